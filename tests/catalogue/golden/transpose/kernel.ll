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
  %v123 = and i32 %v10, 96
  %v124 = lshr i32 %v123, 1
  %v125 = and i32 %v10, 12
  %v126 = xor i32 %v124, %v125
  %v127 = and i32 %v10, 80
  %v128 = shl i32 %v127, 2
  %v129 = xor i32 %v126, %v128
  %v130 = and i32 %v10, 35
  %v131 = shl i32 %v130, 4
  %v132 = xor i32 %v129, %v131
  %v151 = and i32 %v10, 96
  %v152 = lshr i32 %v151, 1
  %v153 = and i32 %v10, 7
  %v154 = shl i32 %v153, 4
  %v155 = xor i32 %v152, %v154
  %v156 = and i32 %v10, 4
  %v157 = shl i32 %v156, 5
  %v158 = xor i32 %v155, %v157
  %v159 = and i32 %v10, 26
  %v160 = shl i32 %v159, 7
  %v161 = xor i32 %v158, %v160
  %v162 = and i32 %v10, 1
  %v163 = shl i32 %v162, 9
  %v164 = xor i32 %v161, %v163
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
  %v64 = bitcast i32 %v62 to float
  %v66 = sext i32 %p3 to i64
  %v67 = mul i64 %v66, 4
  %v68 = mul i64 %v67, 4
  %v69 = getelementptr i8, ptr addrspace(1) %v61, i64 %v68
  %v70 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v69, i1 %v25, i32 0)
  %v72 = bitcast i32 %v70 to float
  %v74 = sext i32 %p3 to i64
  %v75 = mul i64 %v74, 4
  %v76 = mul i64 %v75, 8
  %v77 = getelementptr i8, ptr addrspace(1) %v61, i64 %v76
  %v78 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v77, i1 %v28, i32 0)
  %v80 = bitcast i32 %v78 to float
  %v82 = sext i32 %p3 to i64
  %v83 = mul i64 %v82, 4
  %v84 = mul i64 %v83, 12
  %v85 = getelementptr i8, ptr addrspace(1) %v61, i64 %v84
  %v86 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v85, i1 %v31, i32 0)
  %v88 = bitcast i32 %v86 to float
  %v90 = sext i32 %p3 to i64
  %v91 = mul i64 %v90, 4
  %v92 = mul i64 %v91, 16
  %v93 = getelementptr i8, ptr addrspace(1) %v61, i64 %v92
  %v94 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v93, i1 %v34, i32 0)
  %v96 = bitcast i32 %v94 to float
  %v98 = sext i32 %p3 to i64
  %v99 = mul i64 %v98, 4
  %v100 = mul i64 %v99, 20
  %v101 = getelementptr i8, ptr addrspace(1) %v61, i64 %v100
  %v102 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v101, i1 %v37, i32 0)
  %v104 = bitcast i32 %v102 to float
  %v106 = sext i32 %p3 to i64
  %v107 = mul i64 %v106, 4
  %v108 = mul i64 %v107, 24
  %v109 = getelementptr i8, ptr addrspace(1) %v61, i64 %v108
  %v110 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v109, i1 %v40, i32 0)
  %v112 = bitcast i32 %v110 to float
  %v114 = sext i32 %p3 to i64
  %v115 = mul i64 %v114, 4
  %v116 = mul i64 %v115, 28
  %v117 = getelementptr i8, ptr addrspace(1) %v61, i64 %v116
  %v118 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v117, i1 %v43, i32 0)
  %v120 = bitcast i32 %v118 to float
  %v133 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v132
  %v134 = insertelement <1 x float> poison, float %v64, i32 0
  store <1 x float> %v134, ptr addrspace(3) %v133, align 4
  %v135 = xor i32 %v132, 64
  %v136 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v135
  %v137 = getelementptr i8, ptr addrspace(3) %v136, i64 128
  %v138 = insertelement <1 x float> poison, float %v72, i32 0
  store <1 x float> %v138, ptr addrspace(3) %v137, align 4
  %v139 = getelementptr i8, ptr addrspace(3) %v133, i64 1024
  %v140 = insertelement <1 x float> poison, float %v80, i32 0
  store <1 x float> %v140, ptr addrspace(3) %v139, align 4
  %v141 = getelementptr i8, ptr addrspace(3) %v136, i64 1152
  %v142 = insertelement <1 x float> poison, float %v88, i32 0
  store <1 x float> %v142, ptr addrspace(3) %v141, align 4
  %v143 = getelementptr i8, ptr addrspace(3) %v133, i64 2048
  %v144 = insertelement <1 x float> poison, float %v96, i32 0
  store <1 x float> %v144, ptr addrspace(3) %v143, align 4
  %v145 = getelementptr i8, ptr addrspace(3) %v136, i64 2176
  %v146 = insertelement <1 x float> poison, float %v104, i32 0
  store <1 x float> %v146, ptr addrspace(3) %v145, align 4
  %v147 = getelementptr i8, ptr addrspace(3) %v133, i64 3072
  %v148 = insertelement <1 x float> poison, float %v112, i32 0
  store <1 x float> %v148, ptr addrspace(3) %v147, align 4
  %v149 = getelementptr i8, ptr addrspace(3) %v136, i64 3200
  %v150 = insertelement <1 x float> poison, float %v120, i32 0
  store <1 x float> %v150, ptr addrspace(3) %v149, align 4
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v165 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v164
  %v166 = load <4 x float>, ptr addrspace(3) %v165, align 16
  %v167 = xor i32 %v164, 64
  %v168 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v167
  %v169 = load <4 x float>, ptr addrspace(3) %v168, align 16
  %v171 = sext i32 %v2 to i64
  %v172 = mul i64 %v171, 32
  %v173 = sext i32 %p6 to i64
  %v174 = sub i64 %v173, %v172
  %v175 = call i64 @llvm.smax.i64(i64 %v174, i64 0)
  %v176 = call i64 @llvm.smin.i64(i64 %v175, i64 32)
  %v177 = trunc i64 %v176 to i32
  %v178 = icmp slt i32 %v11, %v177
  %v179 = sext i32 %v1 to i64
  %v180 = mul i64 %v179, 32
  %v181 = sext i32 %p7 to i64
  %v182 = sub i64 %v181, %v180
  %v183 = call i64 @llvm.smax.i64(i64 %v182, i64 0)
  %v184 = call i64 @llvm.smin.i64(i64 %v183, i64 32)
  %v185 = trunc i64 %v184 to i32
  %v186 = icmp slt i32 %v20, %v185
  %v187 = and i1 %v178, %v186
  %v189 = sext i32 %v2 to i64
  %v190 = mul i64 %v189, 32
  %v191 = sext i32 %p8 to i64
  %v192 = mul i64 %v191, 4
  %v193 = mul i64 %v190, %v192
  %v194 = sext i32 %v1 to i64
  %v195 = mul i64 %v194, 32
  %v196 = mul i64 %v195, 4
  %v197 = add i64 %v193, %v196
  %v198 = getelementptr i8, ptr addrspace(1) %p5, i64 %v197
  %v199 = sext i32 %v11 to i64
  %v200 = sext i32 %p8 to i64
  %v201 = mul i64 %v200, 4
  %v202 = mul i64 %v199, %v201
  %v203 = mul i32 %v20, 4
  %v204 = sext i32 %v203 to i64
  %v205 = add i64 %v202, %v204
  %v206 = getelementptr i8, ptr addrspace(1) %v198, i64 %v205
  %v207 = extractelement <4 x float> %v166, i32 0
  %v208 = bitcast float %v207 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v206, i1 %v187, i32 %v208)
  %v209 = sub i32 %v177, 4
  %v210 = icmp slt i32 %v11, %v209
  %v211 = and i1 %v210, %v186
  %v213 = sext i32 %p8 to i64
  %v214 = mul i64 %v213, 4
  %v215 = mul i64 %v214, 4
  %v216 = getelementptr i8, ptr addrspace(1) %v206, i64 %v215
  %v217 = extractelement <4 x float> %v166, i32 1
  %v218 = bitcast float %v217 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v216, i1 %v211, i32 %v218)
  %v219 = sub i32 %v177, 8
  %v220 = icmp slt i32 %v11, %v219
  %v221 = and i1 %v220, %v186
  %v223 = sext i32 %p8 to i64
  %v224 = mul i64 %v223, 4
  %v225 = mul i64 %v224, 8
  %v226 = getelementptr i8, ptr addrspace(1) %v206, i64 %v225
  %v227 = extractelement <4 x float> %v166, i32 2
  %v228 = bitcast float %v227 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v226, i1 %v221, i32 %v228)
  %v229 = sub i32 %v177, 12
  %v230 = icmp slt i32 %v11, %v229
  %v231 = and i1 %v230, %v186
  %v233 = sext i32 %p8 to i64
  %v234 = mul i64 %v233, 4
  %v235 = mul i64 %v234, 12
  %v236 = getelementptr i8, ptr addrspace(1) %v206, i64 %v235
  %v237 = extractelement <4 x float> %v166, i32 3
  %v238 = bitcast float %v237 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v236, i1 %v231, i32 %v238)
  %v239 = sub i32 %v177, 16
  %v240 = icmp slt i32 %v11, %v239
  %v241 = and i1 %v240, %v186
  %v243 = sext i32 %p8 to i64
  %v244 = mul i64 %v243, 4
  %v245 = mul i64 %v244, 16
  %v246 = getelementptr i8, ptr addrspace(1) %v206, i64 %v245
  %v247 = extractelement <4 x float> %v169, i32 0
  %v248 = bitcast float %v247 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v246, i1 %v241, i32 %v248)
  %v249 = sub i32 %v177, 20
  %v250 = icmp slt i32 %v11, %v249
  %v251 = and i1 %v250, %v186
  %v253 = sext i32 %p8 to i64
  %v254 = mul i64 %v253, 4
  %v255 = mul i64 %v254, 20
  %v256 = getelementptr i8, ptr addrspace(1) %v206, i64 %v255
  %v257 = extractelement <4 x float> %v169, i32 1
  %v258 = bitcast float %v257 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v256, i1 %v251, i32 %v258)
  %v259 = sub i32 %v177, 24
  %v260 = icmp slt i32 %v11, %v259
  %v261 = and i1 %v260, %v186
  %v263 = sext i32 %p8 to i64
  %v264 = mul i64 %v263, 4
  %v265 = mul i64 %v264, 24
  %v266 = getelementptr i8, ptr addrspace(1) %v206, i64 %v265
  %v267 = extractelement <4 x float> %v169, i32 2
  %v268 = bitcast float %v267 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v266, i1 %v261, i32 %v268)
  %v269 = sub i32 %v177, 28
  %v270 = icmp slt i32 %v11, %v269
  %v271 = and i1 %v270, %v186
  %v273 = sext i32 %p8 to i64
  %v274 = mul i64 %v273, 4
  %v275 = mul i64 %v274, 28
  %v276 = getelementptr i8, ptr addrspace(1) %v206, i64 %v275
  %v277 = extractelement <4 x float> %v169, i32 3
  %v278 = bitcast float %v277 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v276, i1 %v271, i32 %v278)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
