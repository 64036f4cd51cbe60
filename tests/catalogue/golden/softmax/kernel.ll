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
  %v67 = and i32 %v13, 96
  %v68 = lshr i32 %v67, 3
  %v69 = and i32 %v13, 31
  %v70 = icmp eq i32 %v69, 0
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
  %v32.0 = insertelement <2 x i32> poison, i32 %v30, i32 0
  %v32 = insertelement <2 x i32> %v32.0, i32 %v31, i32 1
  %v33 = bitcast <2 x i32> %v32 to <2 x float>
  %v34 = shufflevector <2 x float> %v33, <2 x float> poison, <1 x i32> <i32 0>
  %v35 = shufflevector <2 x float> %v33, <2 x float> poison, <1 x i32> <i32 1>
  %v36 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v34, <1 x float> %v35)
  %v37 = bitcast <1 x float> %v36 to <1 x i32>
  %v38 = extractelement <1 x i32> %v37, i32 0
  %v39 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v38, i32 1) #1
  %v40 = insertelement <1 x i32> poison, i32 %v39, i32 0
  %v41 = bitcast <1 x i32> %v40 to <1 x float>
  %v42 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v36, <1 x float> %v41)
  %v43 = bitcast <1 x float> %v42 to <1 x i32>
  %v44 = extractelement <1 x i32> %v43, i32 0
  %v45 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v44, i32 2) #1
  %v46 = insertelement <1 x i32> poison, i32 %v45, i32 0
  %v47 = bitcast <1 x i32> %v46 to <1 x float>
  %v48 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v42, <1 x float> %v47)
  %v49 = bitcast <1 x float> %v48 to <1 x i32>
  %v50 = extractelement <1 x i32> %v49, i32 0
  %v51 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v50, i32 4) #1
  %v52 = insertelement <1 x i32> poison, i32 %v51, i32 0
  %v53 = bitcast <1 x i32> %v52 to <1 x float>
  %v54 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v48, <1 x float> %v53)
  %v55 = bitcast <1 x float> %v54 to <1 x i32>
  %v56 = extractelement <1 x i32> %v55, i32 0
  %v57 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v56, i32 8) #1
  %v58 = insertelement <1 x i32> poison, i32 %v57, i32 0
  %v59 = bitcast <1 x i32> %v58 to <1 x float>
  %v60 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v54, <1 x float> %v59)
  %v61 = bitcast <1 x float> %v60 to <1 x i32>
  %v62 = extractelement <1 x i32> %v61, i32 0
  %v63 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v62, i32 16) #1
  %v64 = insertelement <1 x i32> poison, i32 %v63, i32 0
  %v65 = bitcast <1 x i32> %v64 to <1 x float>
  %v66 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v60, <1 x float> %v65)
  br i1 %v70, label %owner2, label %stored1
owner2:
  %v71 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v68
  store <1 x float> %v66, ptr addrspace(3) %v71, align 4
  br label %stored1
stored1:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v72 = load <4 x float>, ptr addrspace(3) @shared_memory, align 16
  %v73 = shufflevector <4 x float> %v72, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v74 = shufflevector <4 x float> %v72, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v75 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %v73, <2 x float> %v74)
  %v76 = shufflevector <2 x float> %v75, <2 x float> poison, <1 x i32> <i32 0>
  %v77 = shufflevector <2 x float> %v75, <2 x float> poison, <1 x i32> <i32 1>
  %v78 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v76, <1 x float> %v77)
  %v79 = fmul <1 x float> %v78, splat (float 0x3FF7154760000000)
  %v80 = extractelement <1 x float> %v79, i32 0
  %v81 = insertelement <2 x float> poison, float %v80, i32 0
  %v82 = shufflevector <2 x float> %v81, <2 x float> poison, <2 x i32> zeroinitializer
  %v83 = fneg <2 x float> %v82
  %v84 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v33, <2 x float> splat (float 0x3FF7154760000000), <2 x float> %v83)
  %v85 = extractelement <2 x float> %v84, i32 0
  %v86 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v85)
  %v87 = extractelement <2 x float> %v84, i32 1
  %v88 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v87)
  %v89.0 = insertelement <2 x float> poison, float %v86, i32 0
  %v89 = insertelement <2 x float> %v89.0, float %v88, i32 1
  %v90 = insertelement <1 x float> poison, float %v86, i32 0
  %v91 = insertelement <1 x float> poison, float %v88, i32 0
  %v92 = fadd <1 x float> %v90, %v91
  %v93 = bitcast <1 x float> %v92 to <1 x i32>
  %v94 = extractelement <1 x i32> %v93, i32 0
  %v95 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v94, i32 1) #1
  %v96 = insertelement <1 x i32> poison, i32 %v95, i32 0
  %v97 = bitcast <1 x i32> %v96 to <1 x float>
  %v98 = fadd <1 x float> %v92, %v97
  %v99 = bitcast <1 x float> %v98 to <1 x i32>
  %v100 = extractelement <1 x i32> %v99, i32 0
  %v101 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v100, i32 2) #1
  %v102 = insertelement <1 x i32> poison, i32 %v101, i32 0
  %v103 = bitcast <1 x i32> %v102 to <1 x float>
  %v104 = fadd <1 x float> %v98, %v103
  %v105 = bitcast <1 x float> %v104 to <1 x i32>
  %v106 = extractelement <1 x i32> %v105, i32 0
  %v107 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v106, i32 4) #1
  %v108 = insertelement <1 x i32> poison, i32 %v107, i32 0
  %v109 = bitcast <1 x i32> %v108 to <1 x float>
  %v110 = fadd <1 x float> %v104, %v109
  %v111 = bitcast <1 x float> %v110 to <1 x i32>
  %v112 = extractelement <1 x i32> %v111, i32 0
  %v113 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v112, i32 8) #1
  %v114 = insertelement <1 x i32> poison, i32 %v113, i32 0
  %v115 = bitcast <1 x i32> %v114 to <1 x float>
  %v116 = fadd <1 x float> %v110, %v115
  %v117 = bitcast <1 x float> %v116 to <1 x i32>
  %v118 = extractelement <1 x i32> %v117, i32 0
  %v119 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v118, i32 16) #1
  %v120 = insertelement <1 x i32> poison, i32 %v119, i32 0
  %v121 = bitcast <1 x i32> %v120 to <1 x float>
  %v122 = fadd <1 x float> %v116, %v121
  br i1 %v70, label %owner4, label %stored3
owner4:
  %v123 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v68
  %v124 = getelementptr i8, ptr addrspace(3) %v123, i64 128
  store <1 x float> %v122, ptr addrspace(3) %v124, align 4
  br label %stored3
stored3:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v125 = getelementptr i8, ptr addrspace(3) @shared_memory, i64 128
  %v126 = load <4 x float>, ptr addrspace(3) %v125, align 16
  %v127 = shufflevector <4 x float> %v126, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v128 = shufflevector <4 x float> %v126, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v129 = fadd <2 x float> %v127, %v128
  %v130 = shufflevector <2 x float> %v129, <2 x float> poison, <1 x i32> <i32 0>
  %v131 = shufflevector <2 x float> %v129, <2 x float> poison, <1 x i32> <i32 1>
  %v132 = fadd <1 x float> %v130, %v131
  %v133 = fdiv <1 x float> splat (float 0x3FF0000000000000), %v132
  %v134 = extractelement <1 x float> %v133, i32 0
  %v135 = insertelement <2 x float> poison, float %v134, i32 0
  %v136 = shufflevector <2 x float> %v135, <2 x float> poison, <2 x i32> zeroinitializer
  %v137 = fmul <2 x float> %v89, %v136
  %v138 = sext i32 %v1 to i64
  %v139 = sext i32 %p6 to i64
  %v140 = sub i64 %v139, %v138
  %v141 = call i64 @llvm.smax.i64(i64 %v140, i64 0)
  %v142 = call i64 @llvm.smin.i64(i64 %v141, i64 1)
  %v143 = trunc i64 %v142 to i32
  %v144 = icmp sgt i32 %v143, 0
  %v145 = sext i32 %p7 to i64
  %v146 = call i64 @llvm.smax.i64(i64 %v145, i64 0)
  %v147 = call i64 @llvm.smin.i64(i64 %v146, i64 256)
  %v148 = trunc i64 %v147 to i32
  %v149 = icmp slt i32 %v14, %v148
  %v150 = and i1 %v144, %v149
  %v151 = sext i32 %v1 to i64
  %v152 = sext i32 %p8 to i64
  %v153 = mul i64 %v152, 4
  %v154 = mul i64 %v151, %v153
  %v155 = getelementptr i8, ptr addrspace(1) %p5, i64 %v154
  %v156 = sext i32 %p8 to i64
  %v157 = mul i64 %v156, 4
  %v158 = mul i64 0, %v157
  %v159 = mul i32 %v14, 4
  %v160 = sext i32 %v159 to i64
  %v161 = add i64 %v158, %v160
  %v162 = getelementptr i8, ptr addrspace(1) %v155, i64 %v161
  %v163 = extractelement <2 x float> %v137, i32 0
  %v164 = extractelement <2 x float> %v137, i32 1
  %v165 = bitcast float %v163 to i32
  %v166 = bitcast float %v164 to i32
  call void asm sideeffect "@$1 st.global.v2.b32 [$0], {$2, $3};", "l,b,r,r,~{memory}"(ptr addrspace(1) %v162, i1 %v150, i32 %v165, i32 %v166)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
