target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.maxnum.f32(float, float)
declare <2 x float> @llvm.maxnum.v2f32(<2 x float>, <2 x float>)
declare <1 x float> @llvm.maxnum.v1f32(<1 x float>, <1 x float>)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
define ptx_kernel void @softmax(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, i32 %p3, i32 %p4, ptr addrspace(1) align 16 %p5, i32 %p6, i32 %p7, i32 %p8, i32 %p9) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v13 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v14 = shl i32 %v13, 1
  %v79 = and i32 %v13, 96
  %v80 = lshr i32 %v79, 3
  %v81 = and i32 %v13, 31
  %v82 = icmp eq i32 %v81, 0
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
  %v17 = sext i32 %p3 to i64
  %v18 = mul i64 %v17, 4
  %v19 = mul i64 %v2, %v18
  %v20 = getelementptr i8, ptr addrspace(1) %p0, i64 %v19
  %v21 = mul i64 0, %v18
  %v22 = mul i32 %v14, 4
  %v23 = sext i32 %v22 to i64
  %v24 = add i64 %v21, %v23
  %v25 = getelementptr i8, ptr addrspace(1) %v20, i64 %v24
  %v27 = call { float, float } asm sideeffect "@$3 ld.global.nc.v2.b32 {$0, $1}, [$2];", "=r,=r,l,b,0,1,~{memory}"(ptr addrspace(1) %v25, i1 %v16, float 0xFFF0000000000000, float 0xFFF0000000000000)
  %v28 = extractvalue { float, float } %v27, 0
  %v29 = extractvalue { float, float } %v27, 1
  %v34.0 = insertelement <2 x float> poison, float %v28, i32 0
  %v34 = insertelement <2 x float> %v34.0, float %v29, i32 1
  %v37 = call float @llvm.maxnum.f32(float %v28, float %v29)
  %v41 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v37, i32 1) #1
  %v43 = bitcast i32 %v41 to float
  %v45 = call float @llvm.maxnum.f32(float %v37, float %v43)
  %v49 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v45, i32 2) #1
  %v51 = bitcast i32 %v49 to float
  %v53 = call float @llvm.maxnum.f32(float %v45, float %v51)
  %v57 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v53, i32 4) #1
  %v59 = bitcast i32 %v57 to float
  %v61 = call float @llvm.maxnum.f32(float %v53, float %v59)
  %v65 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v61, i32 8) #1
  %v67 = bitcast i32 %v65 to float
  %v69 = call float @llvm.maxnum.f32(float %v61, float %v67)
  %v73 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v69, i32 16) #1
  %v75 = bitcast i32 %v73 to float
  %v77 = call float @llvm.maxnum.f32(float %v69, float %v75)
  %v78 = insertelement <1 x float> poison, float %v77, i32 0
  br i1 %v82, label %owner1, label %done2
owner1:
  %v83 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v80
  store <1 x float> %v78, ptr addrspace(3) %v83, align 4
  br label %done2
done2:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v84 = load <4 x float>, ptr addrspace(3) @shared_memory, align 16
  %v85 = shufflevector <4 x float> %v84, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v86 = shufflevector <4 x float> %v84, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v87 = call <2 x float> @llvm.maxnum.v2f32(<2 x float> %v85, <2 x float> %v86)
  %v88 = shufflevector <2 x float> %v87, <2 x float> poison, <1 x i32> zeroinitializer
  %v89 = shufflevector <2 x float> %v87, <2 x float> poison, <1 x i32> <i32 1>
  %v90 = call <1 x float> @llvm.maxnum.v1f32(<1 x float> %v88, <1 x float> %v89)
  %v91 = fmul <1 x float> %v90, splat (float 0x3FF7154760000000)
  %v92 = fneg <1 x float> %v91
  %v93 = extractelement <1 x float> %v92, i32 0
  %v94 = insertelement <2 x float> poison, float %v93, i32 0
  %v95 = shufflevector <2 x float> %v94, <2 x float> poison, <2 x i32> zeroinitializer
  %v96 = call <2 x float> @llvm.fma.v2f32(<2 x float> %v34, <2 x float> splat (float 0x3FF7154760000000), <2 x float> %v95)
  %v97 = extractelement <2 x float> %v96, i32 0
  %v98 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v97)
  %v99 = extractelement <2 x float> %v96, i32 1
  %v100 = call float @llvm.nvvm.ex2.approx.ftz.f32(float %v99)
  %v101.0 = insertelement <2 x float> poison, float %v98, i32 0
  %v101 = insertelement <2 x float> %v101.0, float %v100, i32 1
  %v104 = fadd float %v98, %v100
  %v108 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v104, i32 1) #1
  %v110 = bitcast i32 %v108 to float
  %v112 = fadd float %v104, %v110
  %v116 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v112, i32 2) #1
  %v118 = bitcast i32 %v116 to float
  %v120 = fadd float %v112, %v118
  %v124 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v120, i32 4) #1
  %v126 = bitcast i32 %v124 to float
  %v128 = fadd float %v120, %v126
  %v132 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v128, i32 8) #1
  %v134 = bitcast i32 %v132 to float
  %v136 = fadd float %v128, %v134
  %v140 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v136, i32 16) #1
  %v142 = bitcast i32 %v140 to float
  %v144 = fadd float %v136, %v142
  %v145 = insertelement <1 x float> poison, float %v144, i32 0
  br i1 %v82, label %owner3, label %done4
owner3:
  %v146 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v80
  %v147 = getelementptr i8, ptr addrspace(3) %v146, i64 128
  store <1 x float> %v145, ptr addrspace(3) %v147, align 4
  br label %done4
done4:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v148 = getelementptr i8, ptr addrspace(3) @shared_memory, i64 128
  %v149 = load <4 x float>, ptr addrspace(3) %v148, align 16
  %v150 = shufflevector <4 x float> %v149, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v151 = shufflevector <4 x float> %v149, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v152 = fadd <2 x float> %v150, %v151
  %v153 = shufflevector <2 x float> %v152, <2 x float> poison, <1 x i32> zeroinitializer
  %v154 = shufflevector <2 x float> %v152, <2 x float> poison, <1 x i32> <i32 1>
  %v155 = fadd <1 x float> %v153, %v154
  %v156 = fdiv <1 x float> splat (float 0x3FF0000000000000), %v155
  %v157 = extractelement <1 x float> %v156, i32 0
  %v158 = insertelement <2 x float> poison, float %v157, i32 0
  %v159 = shufflevector <2 x float> %v158, <2 x float> poison, <2 x i32> zeroinitializer
  %v160 = fmul <2 x float> %v101, %v159
  %v161 = sext i32 %v1 to i64
  %v162 = sext i32 %p6 to i64
  %v163 = sub i64 %v162, %v161
  %v164 = call i64 @llvm.smax.i64(i64 %v163, i64 0)
  %v165 = call i64 @llvm.smin.i64(i64 %v164, i64 1)
  %v166 = trunc i64 %v165 to i32
  %v167 = icmp sgt i32 %v166, 0
  %v168 = sext i32 %p7 to i64
  %v169 = call i64 @llvm.smax.i64(i64 %v168, i64 0)
  %v170 = call i64 @llvm.smin.i64(i64 %v169, i64 256)
  %v171 = trunc i64 %v170 to i32
  %v172 = icmp slt i32 %v14, %v171
  %v173 = and i1 %v167, %v172
  %v174 = sext i32 %p8 to i64
  %v175 = mul i64 %v174, 4
  %v176 = mul i64 %v161, %v175
  %v177 = getelementptr i8, ptr addrspace(1) %p5, i64 %v176
  %v178 = mul i64 0, %v175
  %v179 = mul i32 %v14, 4
  %v180 = sext i32 %v179 to i64
  %v181 = add i64 %v178, %v180
  %v182 = getelementptr i8, ptr addrspace(1) %v177, i64 %v181
  %v183 = extractelement <2 x float> %v160, i32 0
  %v185 = extractelement <2 x float> %v160, i32 1
  call void asm sideeffect "@$1 st.global.v2.b32 [$0], {$2, $3};", "l,b,r,r,~{memory}"(ptr addrspace(1) %v182, i1 %v173, float %v183, float %v185)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
