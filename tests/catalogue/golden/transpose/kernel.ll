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
  %v122 = lshr i32 %v121, 3
  %v123 = and i32 %v10, 31
  %v124 = shl i32 %v123, 2
  %v125 = xor i32 %v122, %v124
  %v126 = and i32 %v10, 64
  %v127 = shl i32 %v126, 4
  %v128 = xor i32 %v125, %v127
  %v129 = and i32 %v10, 32
  %v130 = shl i32 %v129, 6
  %v131 = xor i32 %v128, %v130
  %v162 = and i32 %v10, 96
  %v163 = lshr i32 %v162, 3
  %v164 = and i32 %v10, 31
  %v165 = shl i32 %v164, 2
  %v166 = xor i32 %v163, %v165
  %v167 = and i32 %v10, 16
  %v168 = shl i32 %v167, 3
  %v169 = xor i32 %v166, %v168
  %v170 = and i32 %v10, 8
  %v171 = shl i32 %v170, 5
  %v172 = xor i32 %v169, %v171
  %v173 = and i32 %v10, 4
  %v174 = shl i32 %v173, 7
  %v175 = xor i32 %v172, %v174
  %v176 = and i32 %v10, 2
  %v177 = shl i32 %v176, 9
  %v178 = xor i32 %v175, %v177
  %v179 = and i32 %v10, 1
  %v180 = shl i32 %v179, 11
  %v181 = xor i32 %v178, %v180
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
  %v132 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v131
  %v133 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 0>
  store <1 x float> %v133, ptr addrspace(3) %v132, align 4
  %v134 = xor i32 %v131, 16
  %v135 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v134
  %v136 = getelementptr i8, ptr addrspace(3) %v135, i64 512
  %v137 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 1>
  store <1 x float> %v137, ptr addrspace(3) %v136, align 4
  %v138 = xor i32 %v131, 32
  %v139 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v138
  %v140 = getelementptr i8, ptr addrspace(3) %v139, i64 256
  %v141 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 2>
  store <1 x float> %v141, ptr addrspace(3) %v140, align 4
  %v142 = xor i32 %v131, 48
  %v143 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v142
  %v144 = getelementptr i8, ptr addrspace(3) %v143, i64 768
  %v145 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 3>
  store <1 x float> %v145, ptr addrspace(3) %v144, align 4
  %v146 = xor i32 %v131, 64
  %v147 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v146
  %v148 = getelementptr i8, ptr addrspace(3) %v147, i64 128
  %v149 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 4>
  store <1 x float> %v149, ptr addrspace(3) %v148, align 4
  %v150 = xor i32 %v131, 80
  %v151 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v150
  %v152 = getelementptr i8, ptr addrspace(3) %v151, i64 640
  %v153 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 5>
  store <1 x float> %v153, ptr addrspace(3) %v152, align 4
  %v154 = xor i32 %v131, 96
  %v155 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v154
  %v156 = getelementptr i8, ptr addrspace(3) %v155, i64 384
  %v157 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 6>
  store <1 x float> %v157, ptr addrspace(3) %v156, align 4
  %v158 = xor i32 %v131, 112
  %v159 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v158
  %v160 = getelementptr i8, ptr addrspace(3) %v159, i64 896
  %v161 = shufflevector <8 x float> %v120, <8 x float> poison, <1 x i32> <i32 7>
  store <1 x float> %v161, ptr addrspace(3) %v160, align 4
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v182 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v181
  %v183 = load <1 x float>, ptr addrspace(3) %v182, align 4
  %v184 = xor i32 %v181, 16
  %v185 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v184
  %v186 = load <1 x float>, ptr addrspace(3) %v185, align 4
  %v187 = xor i32 %v181, 32
  %v188 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v187
  %v189 = load <1 x float>, ptr addrspace(3) %v188, align 4
  %v190 = xor i32 %v181, 48
  %v191 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v190
  %v192 = load <1 x float>, ptr addrspace(3) %v191, align 4
  %v193 = xor i32 %v181, 64
  %v194 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v193
  %v195 = load <1 x float>, ptr addrspace(3) %v194, align 4
  %v196 = xor i32 %v181, 80
  %v197 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v196
  %v198 = load <1 x float>, ptr addrspace(3) %v197, align 4
  %v199 = xor i32 %v181, 96
  %v200 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v199
  %v201 = load <1 x float>, ptr addrspace(3) %v200, align 4
  %v202 = xor i32 %v181, 112
  %v203 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v202
  %v204 = load <1 x float>, ptr addrspace(3) %v203, align 4
  %v205 = shufflevector <1 x float> %v183, <1 x float> %v186, <2 x i32> <i32 0, i32 1>
  %v206 = shufflevector <1 x float> %v189, <1 x float> %v192, <2 x i32> <i32 0, i32 1>
  %v207 = shufflevector <1 x float> %v195, <1 x float> %v198, <2 x i32> <i32 0, i32 1>
  %v208 = shufflevector <1 x float> %v201, <1 x float> %v204, <2 x i32> <i32 0, i32 1>
  %v209 = shufflevector <2 x float> %v205, <2 x float> %v206, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v210 = shufflevector <2 x float> %v207, <2 x float> %v208, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v211 = shufflevector <4 x float> %v209, <4 x float> %v210, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v212 = sext i32 %v2 to i64
  %v213 = mul i64 %v212, 32
  %v214 = sext i32 %p6 to i64
  %v215 = sub i64 %v214, %v213
  %v216 = call i64 @llvm.smax.i64(i64 %v215, i64 0)
  %v217 = call i64 @llvm.smin.i64(i64 %v216, i64 32)
  %v218 = trunc i64 %v217 to i32
  %v219 = icmp slt i32 %v11, %v218
  %v220 = sext i32 %v1 to i64
  %v221 = mul i64 %v220, 32
  %v222 = sext i32 %p7 to i64
  %v223 = sub i64 %v222, %v221
  %v224 = call i64 @llvm.smax.i64(i64 %v223, i64 0)
  %v225 = call i64 @llvm.smin.i64(i64 %v224, i64 32)
  %v226 = trunc i64 %v225 to i32
  %v227 = icmp slt i32 %v20, %v226
  %v228 = and i1 %v219, %v227
  %v229 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 0>
  %v230 = sext i32 %v2 to i64
  %v231 = mul i64 %v230, 32
  %v232 = sext i32 %p8 to i64
  %v233 = mul i64 %v232, 4
  %v234 = mul i64 %v231, %v233
  %v235 = sext i32 %v1 to i64
  %v236 = mul i64 %v235, 32
  %v237 = mul i64 %v236, 4
  %v238 = add i64 %v234, %v237
  %v239 = getelementptr i8, ptr addrspace(1) %p5, i64 %v238
  %v240 = sext i32 %v11 to i64
  %v241 = sext i32 %p8 to i64
  %v242 = mul i64 %v241, 4
  %v243 = mul i64 %v240, %v242
  %v244 = mul i32 %v20, 4
  %v245 = sext i32 %v244 to i64
  %v246 = add i64 %v243, %v245
  %v247 = getelementptr i8, ptr addrspace(1) %v239, i64 %v246
  %v248 = extractelement <1 x float> %v229, i32 0
  %v249 = bitcast float %v248 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v247, i1 %v228, i32 %v249)
  %v250 = sub i32 %v218, 4
  %v251 = icmp slt i32 %v11, %v250
  %v252 = and i1 %v251, %v227
  %v253 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 1>
  %v254 = sext i32 %p8 to i64
  %v255 = mul i64 %v254, 4
  %v256 = mul i64 %v255, 4
  %v257 = getelementptr i8, ptr addrspace(1) %v247, i64 %v256
  %v258 = extractelement <1 x float> %v253, i32 0
  %v259 = bitcast float %v258 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v257, i1 %v252, i32 %v259)
  %v260 = sub i32 %v218, 8
  %v261 = icmp slt i32 %v11, %v260
  %v262 = and i1 %v261, %v227
  %v263 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 2>
  %v264 = sext i32 %p8 to i64
  %v265 = mul i64 %v264, 4
  %v266 = mul i64 %v265, 8
  %v267 = getelementptr i8, ptr addrspace(1) %v247, i64 %v266
  %v268 = extractelement <1 x float> %v263, i32 0
  %v269 = bitcast float %v268 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v267, i1 %v262, i32 %v269)
  %v270 = sub i32 %v218, 12
  %v271 = icmp slt i32 %v11, %v270
  %v272 = and i1 %v271, %v227
  %v273 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 3>
  %v274 = sext i32 %p8 to i64
  %v275 = mul i64 %v274, 4
  %v276 = mul i64 %v275, 12
  %v277 = getelementptr i8, ptr addrspace(1) %v247, i64 %v276
  %v278 = extractelement <1 x float> %v273, i32 0
  %v279 = bitcast float %v278 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v277, i1 %v272, i32 %v279)
  %v280 = sub i32 %v218, 16
  %v281 = icmp slt i32 %v11, %v280
  %v282 = and i1 %v281, %v227
  %v283 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 4>
  %v284 = sext i32 %p8 to i64
  %v285 = mul i64 %v284, 4
  %v286 = mul i64 %v285, 16
  %v287 = getelementptr i8, ptr addrspace(1) %v247, i64 %v286
  %v288 = extractelement <1 x float> %v283, i32 0
  %v289 = bitcast float %v288 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v287, i1 %v282, i32 %v289)
  %v290 = sub i32 %v218, 20
  %v291 = icmp slt i32 %v11, %v290
  %v292 = and i1 %v291, %v227
  %v293 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 5>
  %v294 = sext i32 %p8 to i64
  %v295 = mul i64 %v294, 4
  %v296 = mul i64 %v295, 20
  %v297 = getelementptr i8, ptr addrspace(1) %v247, i64 %v296
  %v298 = extractelement <1 x float> %v293, i32 0
  %v299 = bitcast float %v298 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v297, i1 %v292, i32 %v299)
  %v300 = sub i32 %v218, 24
  %v301 = icmp slt i32 %v11, %v300
  %v302 = and i1 %v301, %v227
  %v303 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 6>
  %v304 = sext i32 %p8 to i64
  %v305 = mul i64 %v304, 4
  %v306 = mul i64 %v305, 24
  %v307 = getelementptr i8, ptr addrspace(1) %v247, i64 %v306
  %v308 = extractelement <1 x float> %v303, i32 0
  %v309 = bitcast float %v308 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v307, i1 %v302, i32 %v309)
  %v310 = sub i32 %v218, 28
  %v311 = icmp slt i32 %v11, %v310
  %v312 = and i1 %v311, %v227
  %v313 = shufflevector <8 x float> %v211, <8 x float> poison, <1 x i32> <i32 7>
  %v314 = sext i32 %p8 to i64
  %v315 = mul i64 %v314, 4
  %v316 = mul i64 %v315, 28
  %v317 = getelementptr i8, ptr addrspace(1) %v247, i64 %v316
  %v318 = extractelement <1 x float> %v313, i32 0
  %v319 = bitcast float %v318 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v317, i1 %v312, i32 %v319)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
