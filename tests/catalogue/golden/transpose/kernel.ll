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
  %v20 = and i32 %v10, 31
  %v121 = and i32 %v10, 96
  %v122 = lshr i32 %v121, 1
  %v123 = and i32 %v10, 12
  %v124 = xor i32 %v122, %v123
  %v125 = and i32 %v10, 80
  %v126 = shl i32 %v125, 2
  %v127 = xor i32 %v124, %v126
  %v128 = and i32 %v10, 35
  %v129 = shl i32 %v128, 4
  %v130 = xor i32 %v127, %v129
  %v149 = and i32 %v10, 96
  %v150 = lshr i32 %v149, 1
  %v151 = and i32 %v10, 7
  %v152 = shl i32 %v151, 4
  %v153 = xor i32 %v150, %v152
  %v154 = and i32 %v10, 4
  %v155 = shl i32 %v154, 5
  %v156 = xor i32 %v153, %v155
  %v157 = and i32 %v10, 26
  %v158 = shl i32 %v157, 7
  %v159 = xor i32 %v156, %v158
  %v160 = and i32 %v10, 1
  %v161 = shl i32 %v160, 9
  %v162 = xor i32 %v159, %v161
  %v3 = sext i32 %v1 to i64
  %v4 = mul i64 %v3, 32
  %v5 = sext i32 %p1 to i64
  %v6 = sub i64 %v5, %v4
  %v7 = call i64 @llvm.smax.i64(i64 %v6, i64 0)
  %v8 = call i64 @llvm.smin.i64(i64 %v7, i64 32)
  %v9 = trunc i64 %v8 to i32
  %v12 = icmp slt i32 %v11, %v9
  %v13 = sext i32 %v2 to i64
  %v14 = mul i64 %v13, 32
  %v15 = sext i32 %p2 to i64
  %v16 = sub i64 %v15, %v14
  %v17 = call i64 @llvm.smax.i64(i64 %v16, i64 0)
  %v18 = call i64 @llvm.smin.i64(i64 %v17, i64 32)
  %v19 = trunc i64 %v18 to i32
  %v21 = icmp slt i32 %v20, %v19
  %v22 = and i1 %v12, %v21
  %v23 = sub i32 %v9, 4
  %v24 = icmp slt i32 %v11, %v23
  %v25 = and i1 %v24, %v21
  %v26 = sub i32 %v9, 8
  %v27 = icmp slt i32 %v11, %v26
  %v28 = and i1 %v27, %v21
  %v29 = sub i32 %v9, 12
  %v30 = icmp slt i32 %v11, %v29
  %v31 = and i1 %v30, %v21
  %v32 = sub i32 %v9, 16
  %v33 = icmp slt i32 %v11, %v32
  %v34 = and i1 %v33, %v21
  %v35 = sub i32 %v9, 20
  %v36 = icmp slt i32 %v11, %v35
  %v37 = and i1 %v36, %v21
  %v38 = sub i32 %v9, 24
  %v39 = icmp slt i32 %v11, %v38
  %v40 = and i1 %v39, %v21
  %v41 = sub i32 %v9, 28
  %v42 = icmp slt i32 %v11, %v41
  %v43 = and i1 %v42, %v21
  %v44 = sext i32 %v1 to i64
  %v45 = mul i64 %v44, 32
  %v46 = sext i32 %p3 to i64
  %v47 = mul i64 %v46, 4
  %v48 = mul i64 %v45, %v47
  %v49 = sext i32 %v2 to i64
  %v50 = mul i64 %v49, 32
  %v51 = mul i64 %v50, 4
  %v52 = add i64 %v48, %v51
  %v53 = getelementptr i8, ptr addrspace(1) %p0, i64 %v52
  %v54 = sext i32 %v11 to i64
  %v55 = sext i32 %p3 to i64
  %v56 = mul i64 %v55, 4
  %v57 = mul i64 %v54, %v56
  %v58 = mul i32 %v20, 4
  %v59 = sext i32 %v58 to i64
  %v60 = add i64 %v57, %v59
  %v61 = getelementptr i8, ptr addrspace(1) %v53, i64 %v60
  %v62 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v61, i1 %v22, i32 0)
  %v63 = insertelement <1 x i32> poison, i32 %v62, i32 0
  %v64 = bitcast <1 x i32> %v63 to <1 x float>
  %v65 = sext i32 %p3 to i64
  %v66 = mul i64 %v65, 4
  %v67 = mul i64 %v66, 4
  %v68 = getelementptr i8, ptr addrspace(1) %v61, i64 %v67
  %v69 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v68, i1 %v25, i32 0)
  %v70 = insertelement <1 x i32> poison, i32 %v69, i32 0
  %v71 = bitcast <1 x i32> %v70 to <1 x float>
  %v72 = sext i32 %p3 to i64
  %v73 = mul i64 %v72, 4
  %v74 = mul i64 %v73, 8
  %v75 = getelementptr i8, ptr addrspace(1) %v61, i64 %v74
  %v76 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v75, i1 %v28, i32 0)
  %v77 = insertelement <1 x i32> poison, i32 %v76, i32 0
  %v78 = bitcast <1 x i32> %v77 to <1 x float>
  %v79 = sext i32 %p3 to i64
  %v80 = mul i64 %v79, 4
  %v81 = mul i64 %v80, 12
  %v82 = getelementptr i8, ptr addrspace(1) %v61, i64 %v81
  %v83 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v82, i1 %v31, i32 0)
  %v84 = insertelement <1 x i32> poison, i32 %v83, i32 0
  %v85 = bitcast <1 x i32> %v84 to <1 x float>
  %v86 = sext i32 %p3 to i64
  %v87 = mul i64 %v86, 4
  %v88 = mul i64 %v87, 16
  %v89 = getelementptr i8, ptr addrspace(1) %v61, i64 %v88
  %v90 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v89, i1 %v34, i32 0)
  %v91 = insertelement <1 x i32> poison, i32 %v90, i32 0
  %v92 = bitcast <1 x i32> %v91 to <1 x float>
  %v93 = sext i32 %p3 to i64
  %v94 = mul i64 %v93, 4
  %v95 = mul i64 %v94, 20
  %v96 = getelementptr i8, ptr addrspace(1) %v61, i64 %v95
  %v97 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v96, i1 %v37, i32 0)
  %v98 = insertelement <1 x i32> poison, i32 %v97, i32 0
  %v99 = bitcast <1 x i32> %v98 to <1 x float>
  %v100 = sext i32 %p3 to i64
  %v101 = mul i64 %v100, 4
  %v102 = mul i64 %v101, 24
  %v103 = getelementptr i8, ptr addrspace(1) %v61, i64 %v102
  %v104 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v103, i1 %v40, i32 0)
  %v105 = insertelement <1 x i32> poison, i32 %v104, i32 0
  %v106 = bitcast <1 x i32> %v105 to <1 x float>
  %v107 = sext i32 %p3 to i64
  %v108 = mul i64 %v107, 4
  %v109 = mul i64 %v108, 28
  %v110 = getelementptr i8, ptr addrspace(1) %v61, i64 %v109
  %v111 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v110, i1 %v43, i32 0)
  %v112 = insertelement <1 x i32> poison, i32 %v111, i32 0
  %v113 = bitcast <1 x i32> %v112 to <1 x float>
  %v114 = shufflevector <1 x float> %v64, <1 x float> %v71, <2 x i32> <i32 0, i32 1>
  %v115 = shufflevector <1 x float> %v78, <1 x float> %v85, <2 x i32> <i32 0, i32 1>
  %v116 = shufflevector <1 x float> %v92, <1 x float> %v99, <2 x i32> <i32 0, i32 1>
  %v117 = shufflevector <1 x float> %v106, <1 x float> %v113, <2 x i32> <i32 0, i32 1>
  %v118 = shufflevector <2 x float> %v114, <2 x float> %v115, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v119 = shufflevector <2 x float> %v116, <2 x float> %v117, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v120 = shufflevector <4 x float> %v118, <4 x float> %v119, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v131 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v130
  %v132 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 0>
  store <1 x float> %v132, ptr addrspace(3) %v131, align 4
  %v133 = xor i32 %v130, 64
  %v134 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v133
  %v135 = getelementptr i8, ptr addrspace(3) %v134, i64 128
  %v136 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 1>
  store <1 x float> %v136, ptr addrspace(3) %v135, align 4
  %v137 = getelementptr i8, ptr addrspace(3) %v131, i64 1024
  %v138 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 2>
  store <1 x float> %v138, ptr addrspace(3) %v137, align 4
  %v139 = getelementptr i8, ptr addrspace(3) %v134, i64 1152
  %v140 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 3>
  store <1 x float> %v140, ptr addrspace(3) %v139, align 4
  %v141 = getelementptr i8, ptr addrspace(3) %v131, i64 2048
  %v142 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 4>
  store <1 x float> %v142, ptr addrspace(3) %v141, align 4
  %v143 = getelementptr i8, ptr addrspace(3) %v134, i64 2176
  %v144 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 5>
  store <1 x float> %v144, ptr addrspace(3) %v143, align 4
  %v145 = getelementptr i8, ptr addrspace(3) %v131, i64 3072
  %v146 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 6>
  store <1 x float> %v146, ptr addrspace(3) %v145, align 4
  %v147 = getelementptr i8, ptr addrspace(3) %v134, i64 3200
  %v148 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 7>
  store <1 x float> %v148, ptr addrspace(3) %v147, align 4
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v163 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v162
  %v164 = load <4 x float>, ptr addrspace(3) %v163, align 16
  %v165 = xor i32 %v162, 64
  %v166 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v165
  %v167 = load <4 x float>, ptr addrspace(3) %v166, align 16
  %v168 = shufflevector <4 x float> %v164, <4 x float> %v167, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v169 = sext i32 %v2 to i64
  %v170 = mul i64 %v169, 32
  %v171 = sext i32 %p6 to i64
  %v172 = sub i64 %v171, %v170
  %v173 = call i64 @llvm.smax.i64(i64 %v172, i64 0)
  %v174 = call i64 @llvm.smin.i64(i64 %v173, i64 32)
  %v175 = trunc i64 %v174 to i32
  %v176 = icmp slt i32 %v11, %v175
  %v177 = sext i32 %v1 to i64
  %v178 = mul i64 %v177, 32
  %v179 = sext i32 %p7 to i64
  %v180 = sub i64 %v179, %v178
  %v181 = call i64 @llvm.smax.i64(i64 %v180, i64 0)
  %v182 = call i64 @llvm.smin.i64(i64 %v181, i64 32)
  %v183 = trunc i64 %v182 to i32
  %v184 = icmp slt i32 %v20, %v183
  %v185 = and i1 %v176, %v184
  %v186 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 0>
  %v187 = sext i32 %v2 to i64
  %v188 = mul i64 %v187, 32
  %v189 = sext i32 %p8 to i64
  %v190 = mul i64 %v189, 4
  %v191 = mul i64 %v188, %v190
  %v192 = sext i32 %v1 to i64
  %v193 = mul i64 %v192, 32
  %v194 = mul i64 %v193, 4
  %v195 = add i64 %v191, %v194
  %v196 = getelementptr i8, ptr addrspace(1) %p5, i64 %v195
  %v197 = sext i32 %v11 to i64
  %v198 = sext i32 %p8 to i64
  %v199 = mul i64 %v198, 4
  %v200 = mul i64 %v197, %v199
  %v201 = mul i32 %v20, 4
  %v202 = sext i32 %v201 to i64
  %v203 = add i64 %v200, %v202
  %v204 = getelementptr i8, ptr addrspace(1) %v196, i64 %v203
  %v205 = extractelement <1 x float> %v186, i32 0
  %v206 = bitcast float %v205 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v204, i1 %v185, i32 %v206)
  %v207 = sub i32 %v175, 4
  %v208 = icmp slt i32 %v11, %v207
  %v209 = and i1 %v208, %v184
  %v210 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 1>
  %v211 = sext i32 %p8 to i64
  %v212 = mul i64 %v211, 4
  %v213 = mul i64 %v212, 4
  %v214 = getelementptr i8, ptr addrspace(1) %v204, i64 %v213
  %v215 = extractelement <1 x float> %v210, i32 0
  %v216 = bitcast float %v215 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v214, i1 %v209, i32 %v216)
  %v217 = sub i32 %v175, 8
  %v218 = icmp slt i32 %v11, %v217
  %v219 = and i1 %v218, %v184
  %v220 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 2>
  %v221 = sext i32 %p8 to i64
  %v222 = mul i64 %v221, 4
  %v223 = mul i64 %v222, 8
  %v224 = getelementptr i8, ptr addrspace(1) %v204, i64 %v223
  %v225 = extractelement <1 x float> %v220, i32 0
  %v226 = bitcast float %v225 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v224, i1 %v219, i32 %v226)
  %v227 = sub i32 %v175, 12
  %v228 = icmp slt i32 %v11, %v227
  %v229 = and i1 %v228, %v184
  %v230 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 3>
  %v231 = sext i32 %p8 to i64
  %v232 = mul i64 %v231, 4
  %v233 = mul i64 %v232, 12
  %v234 = getelementptr i8, ptr addrspace(1) %v204, i64 %v233
  %v235 = extractelement <1 x float> %v230, i32 0
  %v236 = bitcast float %v235 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v234, i1 %v229, i32 %v236)
  %v237 = sub i32 %v175, 16
  %v238 = icmp slt i32 %v11, %v237
  %v239 = and i1 %v238, %v184
  %v240 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 4>
  %v241 = sext i32 %p8 to i64
  %v242 = mul i64 %v241, 4
  %v243 = mul i64 %v242, 16
  %v244 = getelementptr i8, ptr addrspace(1) %v204, i64 %v243
  %v245 = extractelement <1 x float> %v240, i32 0
  %v246 = bitcast float %v245 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v244, i1 %v239, i32 %v246)
  %v247 = sub i32 %v175, 20
  %v248 = icmp slt i32 %v11, %v247
  %v249 = and i1 %v248, %v184
  %v250 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 5>
  %v251 = sext i32 %p8 to i64
  %v252 = mul i64 %v251, 4
  %v253 = mul i64 %v252, 20
  %v254 = getelementptr i8, ptr addrspace(1) %v204, i64 %v253
  %v255 = extractelement <1 x float> %v250, i32 0
  %v256 = bitcast float %v255 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v254, i1 %v249, i32 %v256)
  %v257 = sub i32 %v175, 24
  %v258 = icmp slt i32 %v11, %v257
  %v259 = and i1 %v258, %v184
  %v260 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 6>
  %v261 = sext i32 %p8 to i64
  %v262 = mul i64 %v261, 4
  %v263 = mul i64 %v262, 24
  %v264 = getelementptr i8, ptr addrspace(1) %v204, i64 %v263
  %v265 = extractelement <1 x float> %v260, i32 0
  %v266 = bitcast float %v265 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v264, i1 %v259, i32 %v266)
  %v267 = sub i32 %v175, 28
  %v268 = icmp slt i32 %v11, %v267
  %v269 = and i1 %v268, %v184
  %v270 = shufflevector <8 x float> %v168, <8 x float> poison, <1 x i32> <i32 7>
  %v271 = sext i32 %p8 to i64
  %v272 = mul i64 %v271, 4
  %v273 = mul i64 %v272, 28
  %v274 = getelementptr i8, ptr addrspace(1) %v204, i64 %v273
  %v275 = extractelement <1 x float> %v270, i32 0
  %v276 = bitcast float %v275 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v274, i1 %v269, i32 %v276)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
