target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.maxnum.f32(float, float)
declare <2 x float> @llvm.maxnum.v2f32(<2 x float>, <2 x float>)
declare <1 x float> @llvm.maxnum.v1f32(<1 x float>, <1 x float>)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
define ptx_kernel void @softmax(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, i32 %p3, i32 %p4, ptr addrspace(1) align 16 %p5, i32 %p6, i32 %p7, i32 %p8, i32 %p9) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v8 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v9 = mul i32 %v8, 2
  %v75 = and i32 %v8, 96
  %v76 = lshr i32 %v75, 3
  %v77 = and i32 %v8, 31
  %v78 = icmp eq i32 %v77, 0
  %v2 = call i32 @llvm.umax.i32(i32 %p1, i32 %v1)
  %v3 = sub i32 %v2, %v1
  %v4 = call i32 @llvm.umin.i32(i32 %v3, i32 1)
  %v5 = icmp sgt i32 %v4, 0
  %v6 = call i32 @llvm.umax.i32(i32 %p2, i32 0)
  %v7 = call i32 @llvm.umin.i32(i32 %v6, i32 256)
  %v10 = icmp slt i32 %v9, %v7
  %v11 = and i1 %v5, %v10
  %v12 = sext i32 %v1 to i64
  %v13 = sext i32 %p3 to i64
  %v14 = mul i64 %v13, 4
  %v15 = mul i64 %v12, %v14
  %v16 = getelementptr i8, ptr addrspace(1) %p0, i64 %v15
  %v17 = mul i64 0, %v14
  %v18 = mul i32 %v9, 4
  %v19 = sext i32 %v18 to i64
  %v20 = add i64 %v17, %v19
  %v21 = getelementptr i8, ptr addrspace(1) %v16, i64 %v20
  %v23 = call { float, float } asm sideeffect "@$3 ld.global.nc.v2.b32 {$0, $1}, [$2];", "=r,=r,l,b,0,1,~{memory}"(ptr addrspace(1) %v21, i1 %v11, float 0xFFF0000000000000, float 0xFFF0000000000000)
  %v24 = extractvalue { float, float } %v23, 0
  %v25 = extractvalue { float, float } %v23, 1
  %v30.0 = insertelement <2 x float> poison, float %v24, i32 0
  %v30 = insertelement <2 x float> %v30.0, float %v25, i32 1
  %v33 = call float @llvm.maxnum.f32(float %v24, float %v25)
  %v37 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v33, i32 1) #1
  %v39 = bitcast i32 %v37 to float
  %v41 = call float @llvm.maxnum.f32(float %v33, float %v39)
  %v45 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v41, i32 2) #1
  %v47 = bitcast i32 %v45 to float
  %v49 = call float @llvm.maxnum.f32(float %v41, float %v47)
  %v53 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v49, i32 4) #1
  %v55 = bitcast i32 %v53 to float
  %v57 = call float @llvm.maxnum.f32(float %v49, float %v55)
  %v61 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v57, i32 8) #1
  %v63 = bitcast i32 %v61 to float
  %v65 = call float @llvm.maxnum.f32(float %v57, float %v63)
  %v69 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v65, i32 16) #1
  %v71 = bitcast i32 %v69 to float
  %v73 = call float @llvm.maxnum.f32(float %v65, float %v71)
  %v74 = insertelement <1 x float> poison, float %v73, i32 0
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
  %v92 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v30, <2 x float> splat (float 0x3FF7154760000000), <2 x float> %v91)
  %v93 = extractelement <2 x float> %v92, i32 0
  %v94 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v93)
  %v95 = extractelement <2 x float> %v92, i32 1
  %v96 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v95)
  %v97.0 = insertelement <2 x float> poison, float %v94, i32 0
  %v97 = insertelement <2 x float> %v97.0, float %v96, i32 1
  %v100 = fadd float %v94, %v96
  %v104 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v100, i32 1) #1
  %v106 = bitcast i32 %v104 to float
  %v108 = fadd float %v100, %v106
  %v112 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v108, i32 2) #1
  %v114 = bitcast i32 %v112 to float
  %v116 = fadd float %v108, %v114
  %v120 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v116, i32 4) #1
  %v122 = bitcast i32 %v120 to float
  %v124 = fadd float %v116, %v122
  %v128 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v124, i32 8) #1
  %v130 = bitcast i32 %v128 to float
  %v132 = fadd float %v124, %v130
  %v136 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v132, i32 16) #1
  %v138 = bitcast i32 %v136 to float
  %v140 = fadd float %v132, %v138
  %v141 = insertelement <1 x float> poison, float %v140, i32 0
  br i1 %v78, label %owner3, label %done4
owner3:
  %v142 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v76
  %v143 = getelementptr i8, ptr addrspace(3) %v142, i64 128
  store <1 x float> %v141, ptr addrspace(3) %v143, align 4
  br label %done4
done4:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v144 = getelementptr i8, ptr addrspace(3) @shared_memory, i64 128
  %v145 = load <4 x float>, ptr addrspace(3) %v144, align 16
  %v146 = shufflevector <4 x float> %v145, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v147 = shufflevector <4 x float> %v145, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v148 = fadd <2 x float> %v146, %v147
  %v149 = shufflevector <2 x float> %v148, <2 x float> poison, <1 x i32> zeroinitializer
  %v150 = shufflevector <2 x float> %v148, <2 x float> poison, <1 x i32> <i32 1>
  %v151 = fadd <1 x float> %v149, %v150
  %v152 = fdiv <1 x float> splat (float 0x3FF0000000000000), %v151
  %v153 = extractelement <1 x float> %v152, i32 0
  %v154 = insertelement <2 x float> poison, float %v153, i32 0
  %v155 = shufflevector <2 x float> %v154, <2 x float> poison, <2 x i32> zeroinitializer
  %v156 = fmul <2 x float> %v97, %v155
  %v157 = call i32 @llvm.umax.i32(i32 %p6, i32 %v1)
  %v158 = sub i32 %v157, %v1
  %v159 = call i32 @llvm.umin.i32(i32 %v158, i32 1)
  %v160 = icmp sgt i32 %v159, 0
  %v161 = call i32 @llvm.umax.i32(i32 %p7, i32 0)
  %v162 = call i32 @llvm.umin.i32(i32 %v161, i32 256)
  %v163 = icmp slt i32 %v9, %v162
  %v164 = and i1 %v160, %v163
  %v165 = sext i32 %v1 to i64
  %v166 = sext i32 %p8 to i64
  %v167 = mul i64 %v166, 4
  %v168 = mul i64 %v165, %v167
  %v169 = getelementptr i8, ptr addrspace(1) %p5, i64 %v168
  %v170 = mul i64 0, %v167
  %v171 = mul i32 %v9, 4
  %v172 = sext i32 %v171 to i64
  %v173 = add i64 %v170, %v172
  %v174 = getelementptr i8, ptr addrspace(1) %v169, i64 %v173
  %v175 = extractelement <2 x float> %v156, i32 0
  %v177 = extractelement <2 x float> %v156, i32 1
  call void asm sideeffect "@$1 st.global.v2.b32 [$0], {$2, $3};", "l,b,r,r,~{memory}"(ptr addrspace(1) %v174, i1 %v164, float %v175, float %v177)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
