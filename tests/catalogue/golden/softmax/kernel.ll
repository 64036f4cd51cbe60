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
declare float @llvm.nvvm.saturate.f(float)
declare float @llvm.nvvm.fma.rm.f(float, float, float)
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
  %v80 = extractelement <1 x float> %v79, i32 0
  %v81 = insertelement <2 x float> poison, float %v80, i32 0
  %v82 = shufflevector <2 x float> %v81, <2 x float> poison, <2 x i32> zeroinitializer
  %v83 = fsub <2 x float> %v34, %v82
  %v84 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v83, <2 x float> splat (float 0x3F775B5960000000), <2 x float> splat (float 0x3FDFDF9EE0000000))
  %v85 = extractelement <2 x float> %v84, i32 0
  %v86 = call float @llvm.nvvm.saturate.f(float %v85)
  %v87 = extractelement <2 x float> %v84, i32 1
  %v88 = call float @llvm.nvvm.saturate.f(float %v87)
  %v89 = insertelement <2 x float> poison, float %v86, i32 0
  %v90 = insertelement <2 x float> %v89, float %v88, i32 1
  %v91 = extractelement <2 x float> %v90, i32 0
  %v92 = call float @llvm.nvvm.fma.rm.f(float %v91, float 0x406FA00000000000, float 0x4168000020000000)
  %v93 = extractelement <2 x float> %v90, i32 1
  %v94 = call float @llvm.nvvm.fma.rm.f(float %v93, float 0x406FA00000000000, float 0x4168000020000000)
  %v95 = insertelement <2 x float> poison, float %v92, i32 0
  %v96 = insertelement <2 x float> %v95, float %v94, i32 1
  %v97 = fsub <2 x float> %v96, splat (float 0x4168000FE0000000)
  %v98 = fneg <2 x float> %v97
  %v99 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v83, <2 x float> splat (float 0x3FF7154760000000), <2 x float> %v98)
  %v100 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v83, <2 x float> splat (float 0x3E54AE0C00000000), <2 x float> %v99)
  %v101 = extractelement <2 x float> %v100, i32 0
  %v102 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v101)
  %v103 = extractelement <2 x float> %v100, i32 1
  %v104 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v103)
  %v105 = insertelement <2 x float> poison, float %v102, i32 0
  %v106 = insertelement <2 x float> %v105, float %v104, i32 1
  %v107 = bitcast <2 x float> %v96 to <2 x i32>
  %v108 = shl <2 x i32> %v107, splat (i32 23)
  %v109 = bitcast <2 x i32> %v108 to <2 x float>
  %v110 = fmul <2 x float> %v106, %v109
  %v111 = shufflevector <2 x float> %v110, <2 x float> poison, <1 x i32> <i32 0>
  %v112 = shufflevector <2 x float> %v110, <2 x float> poison, <1 x i32> <i32 1>
  %v113 = fadd <1 x float> %v111, %v112
  %v114 = bitcast <1 x float> %v113 to <1 x i32>
  %v115 = extractelement <1 x i32> %v114, i32 0
  %v116 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v115, i32 1) #1
  %v117 = insertelement <1 x i32> poison, i32 %v116, i32 0
  %v118 = bitcast <1 x i32> %v117 to <1 x float>
  %v119 = fadd <1 x float> %v113, %v118
  %v120 = bitcast <1 x float> %v119 to <1 x i32>
  %v121 = extractelement <1 x i32> %v120, i32 0
  %v122 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v121, i32 2) #1
  %v123 = insertelement <1 x i32> poison, i32 %v122, i32 0
  %v124 = bitcast <1 x i32> %v123 to <1 x float>
  %v125 = fadd <1 x float> %v119, %v124
  %v126 = bitcast <1 x float> %v125 to <1 x i32>
  %v127 = extractelement <1 x i32> %v126, i32 0
  %v128 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v127, i32 4) #1
  %v129 = insertelement <1 x i32> poison, i32 %v128, i32 0
  %v130 = bitcast <1 x i32> %v129 to <1 x float>
  %v131 = fadd <1 x float> %v125, %v130
  %v132 = bitcast <1 x float> %v131 to <1 x i32>
  %v133 = extractelement <1 x i32> %v132, i32 0
  %v134 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v133, i32 8) #1
  %v135 = insertelement <1 x i32> poison, i32 %v134, i32 0
  %v136 = bitcast <1 x i32> %v135 to <1 x float>
  %v137 = fadd <1 x float> %v131, %v136
  %v138 = bitcast <1 x float> %v137 to <1 x i32>
  %v139 = extractelement <1 x i32> %v138, i32 0
  %v140 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v139, i32 16) #1
  %v141 = insertelement <1 x i32> poison, i32 %v140, i32 0
  %v142 = bitcast <1 x i32> %v141 to <1 x float>
  %v143 = fadd <1 x float> %v137, %v142
  br i1 %v71, label %owner4, label %stored3
owner4:
  %v144 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v69
  %v145 = getelementptr i8, ptr addrspace(3) %v144, i64 128
  store <1 x float> %v143, ptr addrspace(3) %v145, align 4
  br label %stored3
stored3:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v146 = getelementptr i8, ptr addrspace(3) @shared_memory, i64 128
  %v147 = load <4 x float>, ptr addrspace(3) %v146, align 16
  %v148 = shufflevector <4 x float> %v147, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v149 = shufflevector <4 x float> %v147, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v150 = fadd <2 x float> %v148, %v149
  %v151 = shufflevector <2 x float> %v150, <2 x float> poison, <1 x i32> <i32 0>
  %v152 = shufflevector <2 x float> %v150, <2 x float> poison, <1 x i32> <i32 1>
  %v153 = fadd <1 x float> %v151, %v152
  %v154 = fdiv <1 x float> splat (float 0x3FF0000000000000), %v153
  %v155 = extractelement <1 x float> %v154, i32 0
  %v156 = insertelement <2 x float> poison, float %v155, i32 0
  %v157 = shufflevector <2 x float> %v156, <2 x float> poison, <2 x i32> zeroinitializer
  %v158 = fmul <2 x float> %v110, %v157
  %v159 = sext i32 %v1 to i64
  %v160 = sext i32 %p6 to i64
  %v161 = sub i64 %v160, %v159
  %v162 = call i64 @llvm.smax.i64(i64 %v161, i64 0)
  %v163 = call i64 @llvm.smin.i64(i64 %v162, i64 1)
  %v164 = trunc i64 %v163 to i32
  %v165 = icmp sgt i32 %v164, 0
  %v166 = sext i32 %p7 to i64
  %v167 = call i64 @llvm.smax.i64(i64 %v166, i64 0)
  %v168 = call i64 @llvm.smin.i64(i64 %v167, i64 256)
  %v169 = trunc i64 %v168 to i32
  %v170 = icmp slt i32 %v14, %v169
  %v171 = and i1 %v165, %v170
  %v172 = sext i32 %v1 to i64
  %v173 = sext i32 %p8 to i64
  %v174 = mul i64 %v173, 4
  %v175 = mul i64 %v172, %v174
  %v176 = getelementptr i8, ptr addrspace(1) %p5, i64 %v175
  %v177 = sext i32 %p8 to i64
  %v178 = mul i64 %v177, 4
  %v179 = mul i64 0, %v178
  %v180 = mul i32 %v14, 4
  %v181 = sext i32 %v180 to i64
  %v182 = add i64 %v179, %v181
  %v183 = getelementptr i8, ptr addrspace(1) %v176, i64 %v182
  %v184 = extractelement <2 x float> %v158, i32 0
  %v185 = extractelement <2 x float> %v158, i32 1
  %v186 = bitcast float %v184 to i32
  %v187 = bitcast float %v185 to i32
  call void asm sideeffect "@$1 st.global.v2.b32 [$0], {$2, $3};", "l,b,r,r,~{memory}"(ptr addrspace(1) %v183, i1 %v171, i32 %v186, i32 %v187)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
