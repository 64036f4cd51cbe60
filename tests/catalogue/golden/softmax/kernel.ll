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
  %v86 = fcmp olt <2 x float> %v85, splat (float 0xC05F800000000000)
  %v87 = select <2 x i1> %v86, <2 x float> splat (float 0x4050000000000000), <2 x float> splat (float 0x0000000000000000)
  %v88 = fadd <2 x float> %v85, %v87
  %v89 = extractelement <2 x float> %v88, i32 0
  %v90 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v89)
  %v91 = extractelement <2 x float> %v88, i32 1
  %v92 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v91)
  %v93 = insertelement <2 x float> poison, float %v90, i32 0
  %v94 = insertelement <2 x float> %v93, float %v92, i32 1
  %v95 = select <2 x i1> %v86, <2 x float> splat (float 0x3BF0000000000000), <2 x float> splat (float 0x3FF0000000000000)
  %v96 = fmul <2 x float> %v94, %v95
  %v97 = shufflevector <2 x float> %v96, <2 x float> poison, <1 x i32> <i32 0>
  %v98 = shufflevector <2 x float> %v96, <2 x float> poison, <1 x i32> <i32 1>
  %v99 = fadd <1 x float> %v97, %v98
  %v100 = bitcast <1 x float> %v99 to <1 x i32>
  %v101 = extractelement <1 x i32> %v100, i32 0
  %v102 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v101, i32 1) #1
  %v103 = insertelement <1 x i32> poison, i32 %v102, i32 0
  %v104 = bitcast <1 x i32> %v103 to <1 x float>
  %v105 = fadd <1 x float> %v99, %v104
  %v106 = bitcast <1 x float> %v105 to <1 x i32>
  %v107 = extractelement <1 x i32> %v106, i32 0
  %v108 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v107, i32 2) #1
  %v109 = insertelement <1 x i32> poison, i32 %v108, i32 0
  %v110 = bitcast <1 x i32> %v109 to <1 x float>
  %v111 = fadd <1 x float> %v105, %v110
  %v112 = bitcast <1 x float> %v111 to <1 x i32>
  %v113 = extractelement <1 x i32> %v112, i32 0
  %v114 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v113, i32 4) #1
  %v115 = insertelement <1 x i32> poison, i32 %v114, i32 0
  %v116 = bitcast <1 x i32> %v115 to <1 x float>
  %v117 = fadd <1 x float> %v111, %v116
  %v118 = bitcast <1 x float> %v117 to <1 x i32>
  %v119 = extractelement <1 x i32> %v118, i32 0
  %v120 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v119, i32 8) #1
  %v121 = insertelement <1 x i32> poison, i32 %v120, i32 0
  %v122 = bitcast <1 x i32> %v121 to <1 x float>
  %v123 = fadd <1 x float> %v117, %v122
  %v124 = bitcast <1 x float> %v123 to <1 x i32>
  %v125 = extractelement <1 x i32> %v124, i32 0
  %v126 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v125, i32 16) #1
  %v127 = insertelement <1 x i32> poison, i32 %v126, i32 0
  %v128 = bitcast <1 x i32> %v127 to <1 x float>
  %v129 = fadd <1 x float> %v123, %v128
  br i1 %v71, label %owner4, label %stored3
owner4:
  %v130 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v69
  %v131 = getelementptr i8, ptr addrspace(3) %v130, i64 128
  store <1 x float> %v129, ptr addrspace(3) %v131, align 4
  br label %stored3
stored3:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v132 = getelementptr i8, ptr addrspace(3) @shared_memory, i64 128
  %v133 = load <4 x float>, ptr addrspace(3) %v132, align 16
  %v134 = shufflevector <4 x float> %v133, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v135 = shufflevector <4 x float> %v133, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v136 = fadd <2 x float> %v134, %v135
  %v137 = shufflevector <2 x float> %v136, <2 x float> poison, <1 x i32> <i32 0>
  %v138 = shufflevector <2 x float> %v136, <2 x float> poison, <1 x i32> <i32 1>
  %v139 = fadd <1 x float> %v137, %v138
  %v140 = fdiv <1 x float> splat (float 0x3FF0000000000000), %v139
  %v141 = extractelement <1 x float> %v140, i32 0
  %v142 = insertelement <2 x float> poison, float %v141, i32 0
  %v143 = shufflevector <2 x float> %v142, <2 x float> poison, <2 x i32> zeroinitializer
  %v144 = fmul <2 x float> %v96, %v143
  %v145 = sext i32 %v1 to i64
  %v146 = sext i32 %p6 to i64
  %v147 = sub i64 %v146, %v145
  %v148 = call i64 @llvm.smax.i64(i64 %v147, i64 0)
  %v149 = call i64 @llvm.smin.i64(i64 %v148, i64 1)
  %v150 = trunc i64 %v149 to i32
  %v151 = icmp sgt i32 %v150, 0
  %v152 = sext i32 %p7 to i64
  %v153 = call i64 @llvm.smax.i64(i64 %v152, i64 0)
  %v154 = call i64 @llvm.smin.i64(i64 %v153, i64 256)
  %v155 = trunc i64 %v154 to i32
  %v156 = icmp slt i32 %v14, %v155
  %v157 = and i1 %v151, %v156
  %v158 = sext i32 %v1 to i64
  %v159 = sext i32 %p8 to i64
  %v160 = mul i64 %v159, 4
  %v161 = mul i64 %v158, %v160
  %v162 = getelementptr i8, ptr addrspace(1) %p5, i64 %v161
  %v163 = sext i32 %p8 to i64
  %v164 = mul i64 %v163, 4
  %v165 = mul i64 0, %v164
  %v166 = mul i32 %v14, 4
  %v167 = sext i32 %v166 to i64
  %v168 = add i64 %v165, %v167
  %v169 = getelementptr i8, ptr addrspace(1) %v162, i64 %v168
  %v170 = extractelement <2 x float> %v144, i32 0
  %v171 = extractelement <2 x float> %v144, i32 1
  %v172 = bitcast float %v170 to i32
  %v173 = bitcast float %v171 to i32
  call void asm sideeffect "@$1 st.global.v2.b32 [$0], {$2, $3};", "l,b,r,r,~{memory}"(ptr addrspace(1) %v169, i1 %v157, i32 %v172, i32 %v173)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
