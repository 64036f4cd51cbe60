target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @transpose(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, i32 %p3, i32 %p4, ptr addrspace(1) align 16 %p5, i32 %p6, i32 %p7, i32 %p8, i32 %p9) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %v7 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v8 = lshr i32 %v7, 5
  %v15 = and i32 %v7, 31
  %v104 = and i32 %v7, 96
  %v105 = lshr i32 %v104, 1
  %v106 = and i32 %v7, 12
  %v107 = xor i32 %v105, %v106
  %v108 = and i32 %v7, 80
  %v109 = shl i32 %v108, 2
  %v110 = xor i32 %v107, %v109
  %v111 = and i32 %v7, 35
  %v112 = shl i32 %v111, 4
  %v113 = xor i32 %v110, %v112
  %v132 = and i32 %v7, 7
  %v133 = shl i32 %v132, 4
  %v134 = xor i32 %v105, %v133
  %v135 = and i32 %v7, 4
  %v136 = shl i32 %v135, 5
  %v137 = xor i32 %v134, %v136
  %v138 = and i32 %v7, 26
  %v139 = shl i32 %v138, 7
  %v140 = xor i32 %v137, %v139
  %v141 = and i32 %v7, 1
  %v142 = shl i32 %v141, 9
  %v143 = xor i32 %v140, %v142
  %v3 = mul i32 %v1, 32
  %v4 = call i32 @llvm.umax.i32(i32 %p1, i32 %v3)
  %v5 = sub i32 %v4, %v3
  %v6 = call i32 @llvm.umin.i32(i32 %v5, i32 32)
  %v9 = sub i32 %v6, %v8
  %v10 = icmp sgt i32 %v9, 0
  %v11 = mul i32 %v2, 32
  %v12 = call i32 @llvm.umax.i32(i32 %p2, i32 %v11)
  %v13 = sub i32 %v12, %v11
  %v14 = call i32 @llvm.umin.i32(i32 %v13, i32 32)
  %v16 = sub i32 %v14, %v15
  %v17 = icmp sgt i32 %v16, 0
  %v18 = and i1 %v10, %v17
  %v19 = icmp sgt i32 %v9, 4
  %v20 = and i1 %v19, %v17
  %v21 = icmp sgt i32 %v9, 8
  %v22 = and i1 %v21, %v17
  %v23 = icmp sgt i32 %v9, 12
  %v24 = and i1 %v23, %v17
  %v25 = icmp sgt i32 %v9, 16
  %v26 = and i1 %v25, %v17
  %v27 = icmp sgt i32 %v9, 20
  %v28 = and i1 %v27, %v17
  %v29 = icmp sgt i32 %v9, 24
  %v30 = and i1 %v29, %v17
  %v31 = icmp sgt i32 %v9, 28
  %v32 = and i1 %v31, %v17
  %v33 = sext i32 %v1 to i64
  %v34 = mul i64 %v33, 32
  %v35 = sext i32 %p3 to i64
  %v36 = mul i64 %v35, 4
  %v37 = mul i64 %v34, %v36
  %v38 = sext i32 %v2 to i64
  %v39 = mul i64 %v38, 32
  %v40 = mul i64 %v39, 4
  %v41 = add i64 %v37, %v40
  %v42 = getelementptr i8, ptr addrspace(1) %p0, i64 %v41
  %v43 = sext i32 %v8 to i64
  %v44 = mul i64 %v43, %v36
  %v45 = mul i32 %v15, 4
  %v46 = sext i32 %v45 to i64
  %v47 = add i64 %v44, %v46
  %v48 = getelementptr i8, ptr addrspace(1) %v42, i64 %v47
  %v50 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v48, i1 %v18, float 0x0000000000000000)
  %v54 = mul i64 %v36, 4
  %v55 = getelementptr i8, ptr addrspace(1) %v48, i64 %v54
  %v57 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v55, i1 %v20, float 0x0000000000000000)
  %v61 = mul i64 %v36, 8
  %v62 = getelementptr i8, ptr addrspace(1) %v48, i64 %v61
  %v64 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v62, i1 %v22, float 0x0000000000000000)
  %v68 = mul i64 %v36, 12
  %v69 = getelementptr i8, ptr addrspace(1) %v48, i64 %v68
  %v71 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v69, i1 %v24, float 0x0000000000000000)
  %v75 = mul i64 %v36, 16
  %v76 = getelementptr i8, ptr addrspace(1) %v48, i64 %v75
  %v78 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v76, i1 %v26, float 0x0000000000000000)
  %v82 = mul i64 %v36, 20
  %v83 = getelementptr i8, ptr addrspace(1) %v48, i64 %v82
  %v85 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v83, i1 %v28, float 0x0000000000000000)
  %v89 = mul i64 %v36, 24
  %v90 = getelementptr i8, ptr addrspace(1) %v48, i64 %v89
  %v92 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v90, i1 %v30, float 0x0000000000000000)
  %v96 = mul i64 %v36, 28
  %v97 = getelementptr i8, ptr addrspace(1) %v48, i64 %v96
  %v99 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v97, i1 %v32, float 0x0000000000000000)
  %v114 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v113
  %v115 = insertelement <1 x float> poison, float %v50, i32 0
  store <1 x float> %v115, ptr addrspace(3) %v114, align 4
  %v116 = xor i32 %v113, 64
  %v117 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v116
  %v118 = getelementptr i8, ptr addrspace(3) %v117, i64 128
  %v119 = insertelement <1 x float> poison, float %v57, i32 0
  store <1 x float> %v119, ptr addrspace(3) %v118, align 4
  %v120 = getelementptr i8, ptr addrspace(3) %v114, i64 1024
  %v121 = insertelement <1 x float> poison, float %v64, i32 0
  store <1 x float> %v121, ptr addrspace(3) %v120, align 4
  %v122 = getelementptr i8, ptr addrspace(3) %v117, i64 1152
  %v123 = insertelement <1 x float> poison, float %v71, i32 0
  store <1 x float> %v123, ptr addrspace(3) %v122, align 4
  %v124 = getelementptr i8, ptr addrspace(3) %v114, i64 2048
  %v125 = insertelement <1 x float> poison, float %v78, i32 0
  store <1 x float> %v125, ptr addrspace(3) %v124, align 4
  %v126 = getelementptr i8, ptr addrspace(3) %v117, i64 2176
  %v127 = insertelement <1 x float> poison, float %v85, i32 0
  store <1 x float> %v127, ptr addrspace(3) %v126, align 4
  %v128 = getelementptr i8, ptr addrspace(3) %v114, i64 3072
  %v129 = insertelement <1 x float> poison, float %v92, i32 0
  store <1 x float> %v129, ptr addrspace(3) %v128, align 4
  %v130 = getelementptr i8, ptr addrspace(3) %v117, i64 3200
  %v131 = insertelement <1 x float> poison, float %v99, i32 0
  store <1 x float> %v131, ptr addrspace(3) %v130, align 4
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v144 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v143
  %v145 = load <4 x float>, ptr addrspace(3) %v144, align 16
  %v146 = xor i32 %v143, 64
  %v147 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v146
  %v148 = load <4 x float>, ptr addrspace(3) %v147, align 16
  %v150 = call i32 @llvm.umax.i32(i32 %p6, i32 %v11)
  %v151 = sub i32 %v150, %v11
  %v152 = call i32 @llvm.umin.i32(i32 %v151, i32 32)
  %v153 = sub i32 %v152, %v8
  %v154 = icmp sgt i32 %v153, 0
  %v155 = call i32 @llvm.umax.i32(i32 %p7, i32 %v3)
  %v156 = sub i32 %v155, %v3
  %v157 = call i32 @llvm.umin.i32(i32 %v156, i32 32)
  %v158 = sub i32 %v157, %v15
  %v159 = icmp sgt i32 %v158, 0
  %v160 = and i1 %v154, %v159
  %v162 = sext i32 %p8 to i64
  %v163 = mul i64 %v162, 4
  %v164 = mul i64 %v39, %v163
  %v165 = mul i64 %v34, 4
  %v166 = add i64 %v164, %v165
  %v167 = getelementptr i8, ptr addrspace(1) %p5, i64 %v166
  %v168 = mul i64 %v43, %v163
  %v169 = add i64 %v168, %v46
  %v170 = getelementptr i8, ptr addrspace(1) %v167, i64 %v169
  %v171 = extractelement <4 x float> %v145, i32 0
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v170, i1 %v160, float %v171)
  %v173 = icmp sgt i32 %v153, 4
  %v174 = and i1 %v173, %v159
  %v176 = mul i64 %v163, 4
  %v177 = getelementptr i8, ptr addrspace(1) %v170, i64 %v176
  %v178 = extractelement <4 x float> %v145, i32 1
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v177, i1 %v174, float %v178)
  %v180 = icmp sgt i32 %v153, 8
  %v181 = and i1 %v180, %v159
  %v183 = mul i64 %v163, 8
  %v184 = getelementptr i8, ptr addrspace(1) %v170, i64 %v183
  %v185 = extractelement <4 x float> %v145, i32 2
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v184, i1 %v181, float %v185)
  %v187 = icmp sgt i32 %v153, 12
  %v188 = and i1 %v187, %v159
  %v190 = mul i64 %v163, 12
  %v191 = getelementptr i8, ptr addrspace(1) %v170, i64 %v190
  %v192 = extractelement <4 x float> %v145, i32 3
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v191, i1 %v188, float %v192)
  %v194 = icmp sgt i32 %v153, 16
  %v195 = and i1 %v194, %v159
  %v197 = mul i64 %v163, 16
  %v198 = getelementptr i8, ptr addrspace(1) %v170, i64 %v197
  %v199 = extractelement <4 x float> %v148, i32 0
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v198, i1 %v195, float %v199)
  %v201 = icmp sgt i32 %v153, 20
  %v202 = and i1 %v201, %v159
  %v204 = mul i64 %v163, 20
  %v205 = getelementptr i8, ptr addrspace(1) %v170, i64 %v204
  %v206 = extractelement <4 x float> %v148, i32 1
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v205, i1 %v202, float %v206)
  %v208 = icmp sgt i32 %v153, 24
  %v209 = and i1 %v208, %v159
  %v211 = mul i64 %v163, 24
  %v212 = getelementptr i8, ptr addrspace(1) %v170, i64 %v211
  %v213 = extractelement <4 x float> %v148, i32 2
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v212, i1 %v209, float %v213)
  %v215 = icmp sgt i32 %v153, 28
  %v216 = and i1 %v215, %v159
  %v218 = mul i64 %v163, 28
  %v219 = getelementptr i8, ptr addrspace(1) %v170, i64 %v218
  %v220 = extractelement <4 x float> %v148, i32 3
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v219, i1 %v216, float %v220)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
