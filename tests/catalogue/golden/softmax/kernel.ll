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
  %v68 = and i32 %v13, 96
  %v69 = lshr i32 %v68, 3
  %v70 = and i32 %v13, 31
  %v71 = icmp eq i32 %v70, 0
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
  %v32 = insertelement <2 x i32> poison, i32 %v30, i32 0
  %v33 = insertelement <2 x i32> %v32, i32 %v31, i32 1
  %v34 = bitcast <2 x i32> %v33 to <2 x float>
  %v35 = shufflevector <2 x float> %v34, <2 x float> poison, <1 x i32> <i32 0>
  %v36 = shufflevector <2 x float> %v34, <2 x float> poison, <1 x i32> <i32 1>
  %v37 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v35, <1 x float> %v36)
  %v38 = bitcast <1 x float> %v37 to <1 x i32>
  %v39 = extractelement <1 x i32> %v38, i32 0
  %v40 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v39, i32 1) #1
  %v41 = insertelement <1 x i32> poison, i32 %v40, i32 0
  %v42 = bitcast <1 x i32> %v41 to <1 x float>
  %v43 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v37, <1 x float> %v42)
  %v44 = bitcast <1 x float> %v43 to <1 x i32>
  %v45 = extractelement <1 x i32> %v44, i32 0
  %v46 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v45, i32 2) #1
  %v47 = insertelement <1 x i32> poison, i32 %v46, i32 0
  %v48 = bitcast <1 x i32> %v47 to <1 x float>
  %v49 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v43, <1 x float> %v48)
  %v50 = bitcast <1 x float> %v49 to <1 x i32>
  %v51 = extractelement <1 x i32> %v50, i32 0
  %v52 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v51, i32 4) #1
  %v53 = insertelement <1 x i32> poison, i32 %v52, i32 0
  %v54 = bitcast <1 x i32> %v53 to <1 x float>
  %v55 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v49, <1 x float> %v54)
  %v56 = bitcast <1 x float> %v55 to <1 x i32>
  %v57 = extractelement <1 x i32> %v56, i32 0
  %v58 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v57, i32 8) #1
  %v59 = insertelement <1 x i32> poison, i32 %v58, i32 0
  %v60 = bitcast <1 x i32> %v59 to <1 x float>
  %v61 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v55, <1 x float> %v60)
  %v62 = bitcast <1 x float> %v61 to <1 x i32>
  %v63 = extractelement <1 x i32> %v62, i32 0
  %v64 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v63, i32 16) #1
  %v65 = insertelement <1 x i32> poison, i32 %v64, i32 0
  %v66 = bitcast <1 x i32> %v65 to <1 x float>
  %v67 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v61, <1 x float> %v66)
  br i1 %v71, label %owner2, label %stored1
owner2:
  %v72 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v69
  store <1 x float> %v67, ptr addrspace(3) %v72, align 4
  br label %stored1
stored1:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v73 = load <4 x float>, ptr addrspace(3) @shared_memory, align 16
  %v74 = shufflevector <4 x float> %v73, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v75 = shufflevector <4 x float> %v73, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v76 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %v74, <2 x float> %v75)
  %v77 = shufflevector <2 x float> %v76, <2 x float> poison, <1 x i32> <i32 0>
  %v78 = shufflevector <2 x float> %v76, <2 x float> poison, <1 x i32> <i32 1>
  %v79 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v77, <1 x float> %v78)
  %v80 = fmul <1 x float> %v79, splat (float 0x3FF7154760000000)
  %v81 = extractelement <1 x float> %v80, i32 0
  %v82 = insertelement <2 x float> poison, float %v81, i32 0
  %v83 = shufflevector <2 x float> %v82, <2 x float> poison, <2 x i32> zeroinitializer
  %v84 = fneg <2 x float> %v83
  %v85 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v34, <2 x float> splat (float 0x3FF7154760000000), <2 x float> %v84)
  %v86 = extractelement <2 x float> %v85, i32 0
  %v87 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v86)
  %v88 = extractelement <2 x float> %v85, i32 1
  %v89 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v88)
  %v90 = insertelement <2 x float> poison, float %v87, i32 0
  %v91 = insertelement <2 x float> %v90, float %v89, i32 1
  %v92 = shufflevector <2 x float> %v91, <2 x float> poison, <1 x i32> <i32 0>
  %v93 = shufflevector <2 x float> %v91, <2 x float> poison, <1 x i32> <i32 1>
  %v94 = fadd <1 x float> %v92, %v93
  %v95 = bitcast <1 x float> %v94 to <1 x i32>
  %v96 = extractelement <1 x i32> %v95, i32 0
  %v97 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v96, i32 1) #1
  %v98 = insertelement <1 x i32> poison, i32 %v97, i32 0
  %v99 = bitcast <1 x i32> %v98 to <1 x float>
  %v100 = fadd <1 x float> %v94, %v99
  %v101 = bitcast <1 x float> %v100 to <1 x i32>
  %v102 = extractelement <1 x i32> %v101, i32 0
  %v103 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v102, i32 2) #1
  %v104 = insertelement <1 x i32> poison, i32 %v103, i32 0
  %v105 = bitcast <1 x i32> %v104 to <1 x float>
  %v106 = fadd <1 x float> %v100, %v105
  %v107 = bitcast <1 x float> %v106 to <1 x i32>
  %v108 = extractelement <1 x i32> %v107, i32 0
  %v109 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v108, i32 4) #1
  %v110 = insertelement <1 x i32> poison, i32 %v109, i32 0
  %v111 = bitcast <1 x i32> %v110 to <1 x float>
  %v112 = fadd <1 x float> %v106, %v111
  %v113 = bitcast <1 x float> %v112 to <1 x i32>
  %v114 = extractelement <1 x i32> %v113, i32 0
  %v115 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v114, i32 8) #1
  %v116 = insertelement <1 x i32> poison, i32 %v115, i32 0
  %v117 = bitcast <1 x i32> %v116 to <1 x float>
  %v118 = fadd <1 x float> %v112, %v117
  %v119 = bitcast <1 x float> %v118 to <1 x i32>
  %v120 = extractelement <1 x i32> %v119, i32 0
  %v121 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v120, i32 16) #1
  %v122 = insertelement <1 x i32> poison, i32 %v121, i32 0
  %v123 = bitcast <1 x i32> %v122 to <1 x float>
  %v124 = fadd <1 x float> %v118, %v123
  br i1 %v71, label %owner4, label %stored3
owner4:
  %v125 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v69
  %v126 = getelementptr i8, ptr addrspace(3) %v125, i64 128
  store <1 x float> %v124, ptr addrspace(3) %v126, align 4
  br label %stored3
stored3:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v127 = getelementptr i8, ptr addrspace(3) @shared_memory, i64 128
  %v128 = load <4 x float>, ptr addrspace(3) %v127, align 16
  %v129 = shufflevector <4 x float> %v128, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v130 = shufflevector <4 x float> %v128, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v131 = fadd <2 x float> %v129, %v130
  %v132 = shufflevector <2 x float> %v131, <2 x float> poison, <1 x i32> <i32 0>
  %v133 = shufflevector <2 x float> %v131, <2 x float> poison, <1 x i32> <i32 1>
  %v134 = fadd <1 x float> %v132, %v133
  %v135 = fdiv <1 x float> splat (float 0x3FF0000000000000), %v134
  %v136 = extractelement <1 x float> %v135, i32 0
  %v137 = insertelement <2 x float> poison, float %v136, i32 0
  %v138 = shufflevector <2 x float> %v137, <2 x float> poison, <2 x i32> zeroinitializer
  %v139 = fmul <2 x float> %v91, %v138
  %v140 = sext i32 %v1 to i64
  %v141 = sext i32 %p6 to i64
  %v142 = sub i64 %v141, %v140
  %v143 = call i64 @llvm.smax.i64(i64 %v142, i64 0)
  %v144 = call i64 @llvm.smin.i64(i64 %v143, i64 1)
  %v145 = trunc i64 %v144 to i32
  %v146 = icmp sgt i32 %v145, 0
  %v147 = sext i32 %p7 to i64
  %v148 = call i64 @llvm.smax.i64(i64 %v147, i64 0)
  %v149 = call i64 @llvm.smin.i64(i64 %v148, i64 256)
  %v150 = trunc i64 %v149 to i32
  %v151 = icmp slt i32 %v14, %v150
  %v152 = and i1 %v146, %v151
  %v153 = sext i32 %v1 to i64
  %v154 = sext i32 %p8 to i64
  %v155 = mul i64 %v154, 4
  %v156 = mul i64 %v153, %v155
  %v157 = getelementptr i8, ptr addrspace(1) %p5, i64 %v156
  %v158 = sext i32 %p8 to i64
  %v159 = mul i64 %v158, 4
  %v160 = mul i64 0, %v159
  %v161 = mul i32 %v14, 4
  %v162 = sext i32 %v161 to i64
  %v163 = add i64 %v160, %v162
  %v164 = getelementptr i8, ptr addrspace(1) %v157, i64 %v163
  %v165 = extractelement <2 x float> %v139, i32 0
  %v166 = extractelement <2 x float> %v139, i32 1
  %v167 = bitcast float %v165 to i32
  %v168 = bitcast float %v166 to i32
  call void asm sideeffect "@$1 st.global.v2.b32 [$0], {$2, $3};", "l,b,r,r,~{memory}"(ptr addrspace(1) %v164, i1 %v152, i32 %v167, i32 %v168)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
