target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @transpose(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, i32 %p3, i32 %p4, ptr addrspace(1) align 16 %p5, i32 %p6, i32 %p7, i32 %p8, i32 %p9) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v2 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %v10 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v11 = lshr i32 %v10, 5
  %v21 = and i32 %v10, 31
  %v106 = and i32 %v10, 96
  %v107 = lshr i32 %v106, 1
  %v108 = and i32 %v10, 12
  %v109 = xor i32 %v107, %v108
  %v110 = and i32 %v10, 80
  %v111 = shl i32 %v110, 2
  %v112 = xor i32 %v109, %v111
  %v113 = and i32 %v10, 35
  %v114 = shl i32 %v113, 4
  %v115 = xor i32 %v112, %v114
  %v134 = and i32 %v10, 7
  %v135 = shl i32 %v134, 4
  %v136 = xor i32 %v107, %v135
  %v137 = and i32 %v10, 4
  %v138 = shl i32 %v137, 5
  %v139 = xor i32 %v136, %v138
  %v140 = and i32 %v10, 26
  %v141 = shl i32 %v140, 7
  %v142 = xor i32 %v139, %v141
  %v143 = and i32 %v10, 1
  %v144 = shl i32 %v143, 9
  %v145 = xor i32 %v142, %v144
  %v3 = sext i32 %v1 to i64
  %v4 = mul i64 %v3, 32
  %v5 = sext i32 %p1 to i64
  %v6 = sub i64 %v5, %v4
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = call i64 @llvm.smin.i64(i64 %v7, i64 32)
  %v9 = trunc i64 %v8 to i32
  %v12 = sub i32 %v9, %v11
  %v13 = icmp sgt i32 %v12, 0
  %v14 = sext i32 %v2 to i64
  %v15 = mul i64 %v14, 32
  %v16 = sext i32 %p2 to i64
  %v17 = sub i64 %v16, %v15
  %v18 = call i64 @llvm.smax.i64(i64 %v17, i64 0)
  %v19 = call i64 @llvm.smin.i64(i64 %v18, i64 32)
  %v20 = trunc i64 %v19 to i32
  %v22 = sub i32 %v20, %v21
  %v23 = icmp sgt i32 %v22, 0
  %v24 = and i1 %v13, %v23
  %v25 = icmp sgt i32 %v12, 4
  %v26 = and i1 %v25, %v23
  %v27 = icmp sgt i32 %v12, 8
  %v28 = and i1 %v27, %v23
  %v29 = icmp sgt i32 %v12, 12
  %v30 = and i1 %v29, %v23
  %v31 = icmp sgt i32 %v12, 16
  %v32 = and i1 %v31, %v23
  %v33 = icmp sgt i32 %v12, 20
  %v34 = and i1 %v33, %v23
  %v35 = icmp sgt i32 %v12, 24
  %v36 = and i1 %v35, %v23
  %v37 = icmp sgt i32 %v12, 28
  %v38 = and i1 %v37, %v23
  %v39 = sext i32 %p3 to i64
  %v40 = mul i64 %v39, 4
  %v41 = mul i64 %v4, %v40
  %v42 = mul i64 %v15, 4
  %v43 = add i64 %v41, %v42
  %v44 = getelementptr i8, ptr addrspace(1) %p0, i64 %v43
  %v45 = sext i32 %v11 to i64
  %v46 = mul i64 %v45, %v40
  %v47 = mul i32 %v21, 4
  %v48 = sext i32 %v47 to i64
  %v49 = add i64 %v46, %v48
  %v50 = getelementptr i8, ptr addrspace(1) %v44, i64 %v49
  %v52 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v50, i1 %v24, float 0x0000000000000000)
  %v56 = mul i64 %v40, 4
  %v57 = getelementptr i8, ptr addrspace(1) %v50, i64 %v56
  %v59 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v57, i1 %v26, float 0x0000000000000000)
  %v63 = mul i64 %v40, 8
  %v64 = getelementptr i8, ptr addrspace(1) %v50, i64 %v63
  %v66 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v64, i1 %v28, float 0x0000000000000000)
  %v70 = mul i64 %v40, 12
  %v71 = getelementptr i8, ptr addrspace(1) %v50, i64 %v70
  %v73 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v71, i1 %v30, float 0x0000000000000000)
  %v77 = mul i64 %v40, 16
  %v78 = getelementptr i8, ptr addrspace(1) %v50, i64 %v77
  %v80 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v78, i1 %v32, float 0x0000000000000000)
  %v84 = mul i64 %v40, 20
  %v85 = getelementptr i8, ptr addrspace(1) %v50, i64 %v84
  %v87 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v85, i1 %v34, float 0x0000000000000000)
  %v91 = mul i64 %v40, 24
  %v92 = getelementptr i8, ptr addrspace(1) %v50, i64 %v91
  %v94 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v92, i1 %v36, float 0x0000000000000000)
  %v98 = mul i64 %v40, 28
  %v99 = getelementptr i8, ptr addrspace(1) %v50, i64 %v98
  %v101 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v99, i1 %v38, float 0x0000000000000000)
  %v116 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v115
  %v117 = insertelement <1 x float> poison, float %v52, i32 0
  store <1 x float> %v117, ptr addrspace(3) %v116, align 4
  %v118 = xor i32 %v115, 64
  %v119 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v118
  %v120 = getelementptr i8, ptr addrspace(3) %v119, i64 128
  %v121 = insertelement <1 x float> poison, float %v59, i32 0
  store <1 x float> %v121, ptr addrspace(3) %v120, align 4
  %v122 = getelementptr i8, ptr addrspace(3) %v116, i64 1024
  %v123 = insertelement <1 x float> poison, float %v66, i32 0
  store <1 x float> %v123, ptr addrspace(3) %v122, align 4
  %v124 = getelementptr i8, ptr addrspace(3) %v119, i64 1152
  %v125 = insertelement <1 x float> poison, float %v73, i32 0
  store <1 x float> %v125, ptr addrspace(3) %v124, align 4
  %v126 = getelementptr i8, ptr addrspace(3) %v116, i64 2048
  %v127 = insertelement <1 x float> poison, float %v80, i32 0
  store <1 x float> %v127, ptr addrspace(3) %v126, align 4
  %v128 = getelementptr i8, ptr addrspace(3) %v119, i64 2176
  %v129 = insertelement <1 x float> poison, float %v87, i32 0
  store <1 x float> %v129, ptr addrspace(3) %v128, align 4
  %v130 = getelementptr i8, ptr addrspace(3) %v116, i64 3072
  %v131 = insertelement <1 x float> poison, float %v94, i32 0
  store <1 x float> %v131, ptr addrspace(3) %v130, align 4
  %v132 = getelementptr i8, ptr addrspace(3) %v119, i64 3200
  %v133 = insertelement <1 x float> poison, float %v101, i32 0
  store <1 x float> %v133, ptr addrspace(3) %v132, align 4
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v146 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v145
  %v147 = load <4 x float>, ptr addrspace(3) %v146, align 16
  %v148 = xor i32 %v145, 64
  %v149 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v148
  %v150 = load <4 x float>, ptr addrspace(3) %v149, align 16
  %v152 = sext i32 %p6 to i64
  %v153 = sub i64 %v152, %v15
  %v154 = call i64 @llvm.smax.i64(i64 %v153, i64 0)
  %v155 = call i64 @llvm.smin.i64(i64 %v154, i64 32)
  %v156 = trunc i64 %v155 to i32
  %v157 = sub i32 %v156, %v11
  %v158 = icmp sgt i32 %v157, 0
  %v159 = sext i32 %p7 to i64
  %v160 = sub i64 %v159, %v4
  %v161 = call i64 @llvm.smax.i64(i64 %v160, i64 0)
  %v162 = call i64 @llvm.smin.i64(i64 %v161, i64 32)
  %v163 = trunc i64 %v162 to i32
  %v164 = sub i32 %v163, %v21
  %v165 = icmp sgt i32 %v164, 0
  %v166 = and i1 %v158, %v165
  %v168 = sext i32 %p8 to i64
  %v169 = mul i64 %v168, 4
  %v170 = mul i64 %v15, %v169
  %v171 = mul i64 %v4, 4
  %v172 = add i64 %v170, %v171
  %v173 = getelementptr i8, ptr addrspace(1) %p5, i64 %v172
  %v174 = mul i64 %v45, %v169
  %v175 = add i64 %v174, %v48
  %v176 = getelementptr i8, ptr addrspace(1) %v173, i64 %v175
  %v177 = extractelement <4 x float> %v147, i32 0
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v176, i1 %v166, float %v177)
  %v179 = icmp sgt i32 %v157, 4
  %v180 = and i1 %v179, %v165
  %v182 = mul i64 %v169, 4
  %v183 = getelementptr i8, ptr addrspace(1) %v176, i64 %v182
  %v184 = extractelement <4 x float> %v147, i32 1
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v183, i1 %v180, float %v184)
  %v186 = icmp sgt i32 %v157, 8
  %v187 = and i1 %v186, %v165
  %v189 = mul i64 %v169, 8
  %v190 = getelementptr i8, ptr addrspace(1) %v176, i64 %v189
  %v191 = extractelement <4 x float> %v147, i32 2
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v190, i1 %v187, float %v191)
  %v193 = icmp sgt i32 %v157, 12
  %v194 = and i1 %v193, %v165
  %v196 = mul i64 %v169, 12
  %v197 = getelementptr i8, ptr addrspace(1) %v176, i64 %v196
  %v198 = extractelement <4 x float> %v147, i32 3
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v197, i1 %v194, float %v198)
  %v200 = icmp sgt i32 %v157, 16
  %v201 = and i1 %v200, %v165
  %v203 = mul i64 %v169, 16
  %v204 = getelementptr i8, ptr addrspace(1) %v176, i64 %v203
  %v205 = extractelement <4 x float> %v150, i32 0
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v204, i1 %v201, float %v205)
  %v207 = icmp sgt i32 %v157, 20
  %v208 = and i1 %v207, %v165
  %v210 = mul i64 %v169, 20
  %v211 = getelementptr i8, ptr addrspace(1) %v176, i64 %v210
  %v212 = extractelement <4 x float> %v150, i32 1
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v211, i1 %v208, float %v212)
  %v214 = icmp sgt i32 %v157, 24
  %v215 = and i1 %v214, %v165
  %v217 = mul i64 %v169, 24
  %v218 = getelementptr i8, ptr addrspace(1) %v176, i64 %v217
  %v219 = extractelement <4 x float> %v150, i32 2
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v218, i1 %v215, float %v219)
  %v221 = icmp sgt i32 %v157, 28
  %v222 = and i1 %v221, %v165
  %v224 = mul i64 %v169, 28
  %v225 = getelementptr i8, ptr addrspace(1) %v176, i64 %v224
  %v226 = extractelement <4 x float> %v150, i32 3
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v225, i1 %v222, float %v226)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
