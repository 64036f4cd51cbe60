target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare <1 x float> @llvm.maxnum.v1f32(<1 x float>, <1 x float>)
declare <2 x float> @llvm.maxnum.v2f32(<2 x float>, <2 x float>)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
define ptx_kernel void @softmax(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, i32 %p3, i32 %p4, ptr addrspace(1) align 16 %p5, i32 %p6, i32 %p7, i32 %p8, i32 %p9) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v13 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v14 = shl i32 %v13, 1
  %v75 = and i32 %v13, 96
  %v76 = lshr i32 %v75, 3
  %v77 = and i32 %v13, 31
  %v78 = icmp eq i32 %v77, 0
  %v2 = sext i32 %v1 to i64
  %v3 = sext i32 %p1 to i64
  %v4 = sub i64 %v3, %v2
  %v5 = call i64 @llvm.smax.i64(i64 %v4, i64 0)
  %v6 = call i64 @llvm.smin.i64(i64 %v5, i64 1)
  %v7 = trunc i64 %v6 to i32
  %v8 = icmp sgt i32 %v7, 0
  %v9 = sext i32 %p2 to i64
  %v10 = call i64 @llvm.smax.i64(i64 %v9, i64 0)
  %v11 = call i64 @llvm.smin.i64(i64 %v10, i64 256)
  %v12 = trunc i64 %v11 to i32
  %v15 = icmp slt i32 %v14, %v12
  %v16 = and i1 %v8, %v15
  %v17 = sext i32 %v1 to i64
  %v18 = sext i32 %p3 to i64
  %v19 = mul i64 %v18, 4
  %v20 = mul i64 %v17, %v19
  %v21 = getelementptr i8, ptr addrspace(1) %p0, i64 %v20
  %v22 = sext i32 %p3 to i64
  %v23 = mul i64 %v22, 4
  %v24 = mul i64 0, %v23
  %v25 = mul i32 %v14, 4
  %v26 = sext i32 %v25 to i64
  %v27 = add i64 %v24, %v26
  %v28 = getelementptr i8, ptr addrspace(1) %v21, i64 %v27
  %v29 = call { i32, i32 } asm sideeffect "@$3 ld.global.nc.v2.b32 {$0, $1}, [$2];", "=r,=r,l,b,0,1,~{memory}"(ptr addrspace(1) %v28, i1 %v16, i32 -8388608, i32 -8388608)
  %v30 = extractvalue { i32, i32 } %v29, 0
  %v31 = extractvalue { i32, i32 } %v29, 1
  %v33 = bitcast i32 %v30 to float
  %v34 = bitcast i32 %v31 to float
  %v36.0 = insertelement <2 x float> poison, float %v33, i32 0
  %v36 = insertelement <2 x float> %v36.0, float %v34, i32 1
  %v37 = insertelement <1 x float> poison, float %v33, i32 0
  %v38 = insertelement <1 x float> poison, float %v34, i32 0
  %v39 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v37, <1 x float> %v38)
  %v40 = bitcast <1 x float> %v39 to <1 x i32>
  %v41 = extractelement <1 x i32> %v40, i32 0
  %v42 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v41, i32 1) #1
  %v44 = bitcast i32 %v42 to float
  %v45 = insertelement <1 x float> poison, float %v44, i32 0
  %v46 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v39, <1 x float> %v45)
  %v47 = bitcast <1 x float> %v46 to <1 x i32>
  %v48 = extractelement <1 x i32> %v47, i32 0
  %v49 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v48, i32 2) #1
  %v51 = bitcast i32 %v49 to float
  %v52 = insertelement <1 x float> poison, float %v51, i32 0
  %v53 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v46, <1 x float> %v52)
  %v54 = bitcast <1 x float> %v53 to <1 x i32>
  %v55 = extractelement <1 x i32> %v54, i32 0
  %v56 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v55, i32 4) #1
  %v58 = bitcast i32 %v56 to float
  %v59 = insertelement <1 x float> poison, float %v58, i32 0
  %v60 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v53, <1 x float> %v59)
  %v61 = bitcast <1 x float> %v60 to <1 x i32>
  %v62 = extractelement <1 x i32> %v61, i32 0
  %v63 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v62, i32 8) #1
  %v65 = bitcast i32 %v63 to float
  %v66 = insertelement <1 x float> poison, float %v65, i32 0
  %v67 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v60, <1 x float> %v66)
  %v68 = bitcast <1 x float> %v67 to <1 x i32>
  %v69 = extractelement <1 x i32> %v68, i32 0
  %v70 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v69, i32 16) #1
  %v72 = bitcast i32 %v70 to float
  %v73 = insertelement <1 x float> poison, float %v72, i32 0
  %v74 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v67, <1 x float> %v73)
  br i1 %v78, label %owner1, label %done2
owner1:
  %v79 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v76
  store <1 x float> %v74, ptr addrspace(3) %v79, align 4
  br label %done2
done2:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v80 = load <4 x float>, ptr addrspace(3) @shared_memory, align 16
  %v81 = shufflevector <4 x float> %v80, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v82 = shufflevector <4 x float> %v80, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v83 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %v81, <2 x float> %v82)
  %v84 = shufflevector <2 x float> %v83, <2 x float> poison, <1 x i32> zeroinitializer
  %v85 = shufflevector <2 x float> %v83, <2 x float> poison, <1 x i32> <i32 1>
  %v86 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v84, <1 x float> %v85)
  %v87 = fmul <1 x float> %v86, splat (float 0x3FF7154760000000)
  %v88 = fneg <1 x float> %v87
  %v89 = extractelement <1 x float> %v88, i32 0
  %v90 = insertelement <2 x float> poison, float %v89, i32 0
  %v91 = shufflevector <2 x float> %v90, <2 x float> poison, <2 x i32> zeroinitializer
  %v92 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v36, <2 x float> splat (float 0x3FF7154760000000), <2 x float> %v91)
  %v93 = extractelement <2 x float> %v92, i32 0
  %v94 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v93)
  %v95 = extractelement <2 x float> %v92, i32 1
  %v96 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v95)
  %v97.0 = insertelement <2 x float> poison, float %v94, i32 0
  %v97 = insertelement <2 x float> %v97.0, float %v96, i32 1
  %v98 = insertelement <1 x float> poison, float %v94, i32 0
  %v99 = insertelement <1 x float> poison, float %v96, i32 0
  %v100 = fadd <1 x float> %v98, %v99
  %v101 = bitcast <1 x float> %v100 to <1 x i32>
  %v102 = extractelement <1 x i32> %v101, i32 0
  %v103 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v102, i32 1) #1
  %v105 = bitcast i32 %v103 to float
  %v106 = insertelement <1 x float> poison, float %v105, i32 0
  %v107 = fadd <1 x float> %v100, %v106
  %v108 = bitcast <1 x float> %v107 to <1 x i32>
  %v109 = extractelement <1 x i32> %v108, i32 0
  %v110 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v109, i32 2) #1
  %v112 = bitcast i32 %v110 to float
  %v113 = insertelement <1 x float> poison, float %v112, i32 0
  %v114 = fadd <1 x float> %v107, %v113
  %v115 = bitcast <1 x float> %v114 to <1 x i32>
  %v116 = extractelement <1 x i32> %v115, i32 0
  %v117 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v116, i32 4) #1
  %v119 = bitcast i32 %v117 to float
  %v120 = insertelement <1 x float> poison, float %v119, i32 0
  %v121 = fadd <1 x float> %v114, %v120
  %v122 = bitcast <1 x float> %v121 to <1 x i32>
  %v123 = extractelement <1 x i32> %v122, i32 0
  %v124 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v123, i32 8) #1
  %v126 = bitcast i32 %v124 to float
  %v127 = insertelement <1 x float> poison, float %v126, i32 0
  %v128 = fadd <1 x float> %v121, %v127
  %v129 = bitcast <1 x float> %v128 to <1 x i32>
  %v130 = extractelement <1 x i32> %v129, i32 0
  %v131 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v130, i32 16) #1
  %v133 = bitcast i32 %v131 to float
  %v134 = insertelement <1 x float> poison, float %v133, i32 0
  %v135 = fadd <1 x float> %v128, %v134
  br i1 %v78, label %owner3, label %done4
owner3:
  %v136 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v76
  %v137 = getelementptr i8, ptr addrspace(3) %v136, i64 128
  store <1 x float> %v135, ptr addrspace(3) %v137, align 4
  br label %done4
done4:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v138 = getelementptr i8, ptr addrspace(3) @shared_memory, i64 128
  %v139 = load <4 x float>, ptr addrspace(3) %v138, align 16
  %v140 = shufflevector <4 x float> %v139, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v141 = shufflevector <4 x float> %v139, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v142 = fadd <2 x float> %v140, %v141
  %v143 = shufflevector <2 x float> %v142, <2 x float> poison, <1 x i32> zeroinitializer
  %v144 = shufflevector <2 x float> %v142, <2 x float> poison, <1 x i32> <i32 1>
  %v145 = fadd <1 x float> %v143, %v144
  %v146 = fdiv <1 x float> splat (float 0x3FF0000000000000), %v145
  %v147 = extractelement <1 x float> %v146, i32 0
  %v148 = insertelement <2 x float> poison, float %v147, i32 0
  %v149 = shufflevector <2 x float> %v148, <2 x float> poison, <2 x i32> zeroinitializer
  %v150 = fmul <2 x float> %v97, %v149
  %v151 = sext i32 %v1 to i64
  %v152 = sext i32 %p6 to i64
  %v153 = sub i64 %v152, %v151
  %v154 = call i64 @llvm.smax.i64(i64 %v153, i64 0)
  %v155 = call i64 @llvm.smin.i64(i64 %v154, i64 1)
  %v156 = trunc i64 %v155 to i32
  %v157 = icmp sgt i32 %v156, 0
  %v158 = sext i32 %p7 to i64
  %v159 = call i64 @llvm.smax.i64(i64 %v158, i64 0)
  %v160 = call i64 @llvm.smin.i64(i64 %v159, i64 256)
  %v161 = trunc i64 %v160 to i32
  %v162 = icmp slt i32 %v14, %v161
  %v163 = and i1 %v157, %v162
  %v164 = sext i32 %v1 to i64
  %v165 = sext i32 %p8 to i64
  %v166 = mul i64 %v165, 4
  %v167 = mul i64 %v164, %v166
  %v168 = getelementptr i8, ptr addrspace(1) %p5, i64 %v167
  %v169 = sext i32 %p8 to i64
  %v170 = mul i64 %v169, 4
  %v171 = mul i64 0, %v170
  %v172 = mul i32 %v14, 4
  %v173 = sext i32 %v172 to i64
  %v174 = add i64 %v171, %v173
  %v175 = getelementptr i8, ptr addrspace(1) %v168, i64 %v174
  %v176 = extractelement <2 x float> %v150, i32 0
  %v177 = bitcast float %v176 to i32
  %v178 = extractelement <2 x float> %v150, i32 1
  %v179 = bitcast float %v178 to i32
  call void asm sideeffect "@$1 st.global.v2.b32 [$0], {$2, $3};", "l,b,r,r,~{memory}"(ptr addrspace(1) %v175, i1 %v163, i32 %v177, i32 %v179)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
