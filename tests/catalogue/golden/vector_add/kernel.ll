target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
define ptx_kernel void @vector_add(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, ptr addrspace(1) noalias readonly align 16 %p3, i32 %p4, i32 %p5, ptr addrspace(1) align 16 %p6, i32 %p7, i32 %p8) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v6 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v7 = mul i32 %v6, 4
  %v2 = sext i32 %v1 to i64
  %v3 = mul i64 %v2, 256
  %v4 = mul i64 %v3, 4
  %v5 = getelementptr i8, ptr addrspace(1) %p0, i64 %v4
  %v8 = mul i32 %v7, 4
  %v9 = sext i32 %v8 to i64
  %v10 = getelementptr i8, ptr addrspace(1) %v5, i64 %v9
  %v11 = mul i32 %v1, 256
  %v12 = call i32 @llvm.umax.i32(i32 %p1, i32 %v11)
  %v13 = sub i32 %v12, %v11
  %v14 = call i32 @llvm.umin.i32(i32 %v13, i32 256)
  %v15 = icmp slt i32 %v7, %v14
  %v16 = sub i32 %v14, 1
  %v17 = icmp slt i32 %v7, %v16
  %v18 = sub i32 %v14, 2
  %v19 = icmp slt i32 %v7, %v18
  %v20 = sub i32 %v14, 3
  %v21 = icmp slt i32 %v7, %v20
  %v22 = icmp sge i32 %v14, 256
  br i1 %v22, label %whole1, label %edge2
whole1:
  %v23 = load <4 x float>, ptr addrspace(1) %v10, align 16, !invariant.load !0
  br label %done3
edge2:
  %v25 = call { float, float, float, float } asm sideeffect "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}"(ptr addrspace(1) %v10, i1 %v21, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000)
  %v26 = extractvalue { float, float, float, float } %v25, 0
  %v27 = extractvalue { float, float, float, float } %v25, 1
  %v28 = extractvalue { float, float, float, float } %v25, 2
  %v29 = extractvalue { float, float, float, float } %v25, 3
  %v36.0 = insertelement <4 x float> poison, float %v26, i32 0
  %v36.1 = insertelement <4 x float> %v36.0, float %v27, i32 1
  %v36.2 = insertelement <4 x float> %v36.1, float %v28, i32 2
  %v36 = insertelement <4 x float> %v36.2, float %v29, i32 3
  %v37 = xor i1 %v21, true
  %v38 = and i1 %v15, %v37
  br i1 %v38, label %cut4, label %vectors5
cut4:
  %v39 = and i1 %v38, %v15
  %v42 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v10, i1 %v39, float %v26)
  %v46 = getelementptr i8, ptr addrspace(1) %v10, i64 4
  %v47 = and i1 %v38, %v17
  %v50 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v46, i1 %v47, float %v27)
  %v54 = getelementptr i8, ptr addrspace(1) %v10, i64 8
  %v55 = and i1 %v38, %v19
  %v58 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v54, i1 %v55, float %v28)
  %v62 = getelementptr i8, ptr addrspace(1) %v10, i64 12
  %v63 = and i1 %v38, %v21
  %v66 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v62, i1 %v63, float %v29)
  %v70.0 = insertelement <4 x float> poison, float %v42, i32 0
  %v70.1 = insertelement <4 x float> %v70.0, float %v50, i32 1
  %v70.2 = insertelement <4 x float> %v70.1, float %v58, i32 2
  %v70 = insertelement <4 x float> %v70.2, float %v66, i32 3
  br label %done6
vectors5:
  br label %done6
done6:
  %v71 = phi <4 x float> [ %v70, %cut4 ], [ %v36, %vectors5 ]
  br label %done3
done3:
  %v72 = phi <4 x float> [ %v23, %whole1 ], [ %v71, %done6 ]
  %v73 = sext i32 %v1 to i64
  %v74 = mul i64 %v73, 256
  %v75 = mul i64 %v74, 4
  %v76 = getelementptr i8, ptr addrspace(1) %p3, i64 %v75
  %v77 = mul i32 %v7, 4
  %v78 = sext i32 %v77 to i64
  %v79 = getelementptr i8, ptr addrspace(1) %v76, i64 %v78
  %v80 = mul i32 %v1, 256
  %v81 = call i32 @llvm.umax.i32(i32 %p4, i32 %v80)
  %v82 = sub i32 %v81, %v80
  %v83 = call i32 @llvm.umin.i32(i32 %v82, i32 256)
  %v84 = icmp slt i32 %v7, %v83
  %v85 = sub i32 %v83, 1
  %v86 = icmp slt i32 %v7, %v85
  %v87 = sub i32 %v83, 2
  %v88 = icmp slt i32 %v7, %v87
  %v89 = sub i32 %v83, 3
  %v90 = icmp slt i32 %v7, %v89
  %v91 = icmp sge i32 %v83, 256
  br i1 %v91, label %whole7, label %edge8
whole7:
  %v92 = load <4 x float>, ptr addrspace(1) %v79, align 16, !invariant.load !0
  br label %done9
edge8:
  %v94 = call { float, float, float, float } asm sideeffect "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}"(ptr addrspace(1) %v79, i1 %v90, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000)
  %v95 = extractvalue { float, float, float, float } %v94, 0
  %v96 = extractvalue { float, float, float, float } %v94, 1
  %v97 = extractvalue { float, float, float, float } %v94, 2
  %v98 = extractvalue { float, float, float, float } %v94, 3
  %v105.0 = insertelement <4 x float> poison, float %v95, i32 0
  %v105.1 = insertelement <4 x float> %v105.0, float %v96, i32 1
  %v105.2 = insertelement <4 x float> %v105.1, float %v97, i32 2
  %v105 = insertelement <4 x float> %v105.2, float %v98, i32 3
  %v106 = xor i1 %v90, true
  %v107 = and i1 %v84, %v106
  br i1 %v107, label %cut10, label %vectors11
cut10:
  %v108 = and i1 %v107, %v84
  %v111 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v79, i1 %v108, float %v95)
  %v115 = getelementptr i8, ptr addrspace(1) %v79, i64 4
  %v116 = and i1 %v107, %v86
  %v119 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v115, i1 %v116, float %v96)
  %v123 = getelementptr i8, ptr addrspace(1) %v79, i64 8
  %v124 = and i1 %v107, %v88
  %v127 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v123, i1 %v124, float %v97)
  %v131 = getelementptr i8, ptr addrspace(1) %v79, i64 12
  %v132 = and i1 %v107, %v90
  %v135 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v131, i1 %v132, float %v98)
  %v139.0 = insertelement <4 x float> poison, float %v111, i32 0
  %v139.1 = insertelement <4 x float> %v139.0, float %v119, i32 1
  %v139.2 = insertelement <4 x float> %v139.1, float %v127, i32 2
  %v139 = insertelement <4 x float> %v139.2, float %v135, i32 3
  br label %done12
vectors11:
  br label %done12
done12:
  %v140 = phi <4 x float> [ %v139, %cut10 ], [ %v105, %vectors11 ]
  br label %done9
done9:
  %v141 = phi <4 x float> [ %v92, %whole7 ], [ %v140, %done12 ]
  %v142 = fadd <4 x float> %v72, %v141
  %v143 = sext i32 %v1 to i64
  %v144 = mul i64 %v143, 256
  %v145 = mul i64 %v144, 4
  %v146 = getelementptr i8, ptr addrspace(1) %p6, i64 %v145
  %v147 = mul i32 %v7, 4
  %v148 = sext i32 %v147 to i64
  %v149 = getelementptr i8, ptr addrspace(1) %v146, i64 %v148
  %v150 = mul i32 %v1, 256
  %v151 = call i32 @llvm.umax.i32(i32 %p7, i32 %v150)
  %v152 = sub i32 %v151, %v150
  %v153 = call i32 @llvm.umin.i32(i32 %v152, i32 256)
  %v154 = icmp slt i32 %v7, %v153
  %v155 = sub i32 %v153, 1
  %v156 = icmp slt i32 %v7, %v155
  %v157 = sub i32 %v153, 2
  %v158 = icmp slt i32 %v7, %v157
  %v159 = sub i32 %v153, 3
  %v160 = icmp slt i32 %v7, %v159
  %v161 = icmp sge i32 %v153, 256
  br i1 %v161, label %whole13, label %edge14
whole13:
  store <4 x float> %v142, ptr addrspace(1) %v149, align 16
  br label %done15
edge14:
  %v162 = extractelement <4 x float> %v142, i32 0
  %v164 = extractelement <4 x float> %v142, i32 1
  %v166 = extractelement <4 x float> %v142, i32 2
  %v168 = extractelement <4 x float> %v142, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v149, i1 %v160, float %v162, float %v164, float %v166, float %v168)
  %v170 = xor i1 %v160, true
  %v171 = and i1 %v154, %v170
  br i1 %v171, label %cut16, label %done17
cut16:
  %v172 = and i1 %v171, %v154
  %v174 = extractelement <4 x float> %v142, i32 0
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v149, i1 %v172, float %v174)
  %v176 = and i1 %v171, %v156
  %v177 = getelementptr i8, ptr addrspace(1) %v149, i64 4
  %v179 = extractelement <4 x float> %v142, i32 1
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v177, i1 %v176, float %v179)
  %v181 = and i1 %v171, %v158
  %v182 = getelementptr i8, ptr addrspace(1) %v149, i64 8
  %v184 = extractelement <4 x float> %v142, i32 2
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v182, i1 %v181, float %v184)
  %v186 = and i1 %v171, %v160
  %v187 = getelementptr i8, ptr addrspace(1) %v149, i64 12
  %v189 = extractelement <4 x float> %v142, i32 3
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v187, i1 %v186, float %v189)
  br label %done17
done17:
  br label %done15
done15:
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
