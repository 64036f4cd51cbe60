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
  %v118 = and i32 %v10, 96
  %v119 = lshr i32 %v118, 1
  %v120 = and i32 %v10, 12
  %v121 = xor i32 %v119, %v120
  %v122 = and i32 %v10, 80
  %v123 = shl i32 %v122, 2
  %v124 = xor i32 %v121, %v123
  %v125 = and i32 %v10, 35
  %v126 = shl i32 %v125, 4
  %v127 = xor i32 %v124, %v126
  %v146 = and i32 %v10, 96
  %v147 = lshr i32 %v146, 1
  %v148 = and i32 %v10, 7
  %v149 = shl i32 %v148, 4
  %v150 = xor i32 %v147, %v149
  %v151 = and i32 %v10, 4
  %v152 = shl i32 %v151, 5
  %v153 = xor i32 %v150, %v152
  %v154 = and i32 %v10, 26
  %v155 = shl i32 %v154, 7
  %v156 = xor i32 %v153, %v155
  %v157 = and i32 %v10, 1
  %v158 = shl i32 %v157, 9
  %v159 = xor i32 %v156, %v158
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
  %v39 = sext i32 %v1 to i64
  %v40 = mul i64 %v39, 32
  %v41 = sext i32 %p3 to i64
  %v42 = mul i64 %v41, 4
  %v43 = mul i64 %v40, %v42
  %v44 = sext i32 %v2 to i64
  %v45 = mul i64 %v44, 32
  %v46 = mul i64 %v45, 4
  %v47 = add i64 %v43, %v46
  %v48 = getelementptr i8, ptr addrspace(1) %p0, i64 %v47
  %v49 = sext i32 %v11 to i64
  %v50 = sext i32 %p3 to i64
  %v51 = mul i64 %v50, 4
  %v52 = mul i64 %v49, %v51
  %v53 = mul i32 %v21, 4
  %v54 = sext i32 %v53 to i64
  %v55 = add i64 %v52, %v54
  %v56 = getelementptr i8, ptr addrspace(1) %v48, i64 %v55
  %v57 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v56, i1 %v24, i32 0)
  %v59 = bitcast i32 %v57 to float
  %v61 = sext i32 %p3 to i64
  %v62 = mul i64 %v61, 4
  %v63 = mul i64 %v62, 4
  %v64 = getelementptr i8, ptr addrspace(1) %v56, i64 %v63
  %v65 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v64, i1 %v26, i32 0)
  %v67 = bitcast i32 %v65 to float
  %v69 = sext i32 %p3 to i64
  %v70 = mul i64 %v69, 4
  %v71 = mul i64 %v70, 8
  %v72 = getelementptr i8, ptr addrspace(1) %v56, i64 %v71
  %v73 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v72, i1 %v28, i32 0)
  %v75 = bitcast i32 %v73 to float
  %v77 = sext i32 %p3 to i64
  %v78 = mul i64 %v77, 4
  %v79 = mul i64 %v78, 12
  %v80 = getelementptr i8, ptr addrspace(1) %v56, i64 %v79
  %v81 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v80, i1 %v30, i32 0)
  %v83 = bitcast i32 %v81 to float
  %v85 = sext i32 %p3 to i64
  %v86 = mul i64 %v85, 4
  %v87 = mul i64 %v86, 16
  %v88 = getelementptr i8, ptr addrspace(1) %v56, i64 %v87
  %v89 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v88, i1 %v32, i32 0)
  %v91 = bitcast i32 %v89 to float
  %v93 = sext i32 %p3 to i64
  %v94 = mul i64 %v93, 4
  %v95 = mul i64 %v94, 20
  %v96 = getelementptr i8, ptr addrspace(1) %v56, i64 %v95
  %v97 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v96, i1 %v34, i32 0)
  %v99 = bitcast i32 %v97 to float
  %v101 = sext i32 %p3 to i64
  %v102 = mul i64 %v101, 4
  %v103 = mul i64 %v102, 24
  %v104 = getelementptr i8, ptr addrspace(1) %v56, i64 %v103
  %v105 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v104, i1 %v36, i32 0)
  %v107 = bitcast i32 %v105 to float
  %v109 = sext i32 %p3 to i64
  %v110 = mul i64 %v109, 4
  %v111 = mul i64 %v110, 28
  %v112 = getelementptr i8, ptr addrspace(1) %v56, i64 %v111
  %v113 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v112, i1 %v38, i32 0)
  %v115 = bitcast i32 %v113 to float
  %v128 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v127
  %v129 = insertelement <1 x float> poison, float %v59, i32 0
  store <1 x float> %v129, ptr addrspace(3) %v128, align 4
  %v130 = xor i32 %v127, 64
  %v131 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v130
  %v132 = getelementptr i8, ptr addrspace(3) %v131, i64 128
  %v133 = insertelement <1 x float> poison, float %v67, i32 0
  store <1 x float> %v133, ptr addrspace(3) %v132, align 4
  %v134 = getelementptr i8, ptr addrspace(3) %v128, i64 1024
  %v135 = insertelement <1 x float> poison, float %v75, i32 0
  store <1 x float> %v135, ptr addrspace(3) %v134, align 4
  %v136 = getelementptr i8, ptr addrspace(3) %v131, i64 1152
  %v137 = insertelement <1 x float> poison, float %v83, i32 0
  store <1 x float> %v137, ptr addrspace(3) %v136, align 4
  %v138 = getelementptr i8, ptr addrspace(3) %v128, i64 2048
  %v139 = insertelement <1 x float> poison, float %v91, i32 0
  store <1 x float> %v139, ptr addrspace(3) %v138, align 4
  %v140 = getelementptr i8, ptr addrspace(3) %v131, i64 2176
  %v141 = insertelement <1 x float> poison, float %v99, i32 0
  store <1 x float> %v141, ptr addrspace(3) %v140, align 4
  %v142 = getelementptr i8, ptr addrspace(3) %v128, i64 3072
  %v143 = insertelement <1 x float> poison, float %v107, i32 0
  store <1 x float> %v143, ptr addrspace(3) %v142, align 4
  %v144 = getelementptr i8, ptr addrspace(3) %v131, i64 3200
  %v145 = insertelement <1 x float> poison, float %v115, i32 0
  store <1 x float> %v145, ptr addrspace(3) %v144, align 4
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v160 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v159
  %v161 = load <4 x float>, ptr addrspace(3) %v160, align 16
  %v162 = xor i32 %v159, 64
  %v163 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v162
  %v164 = load <4 x float>, ptr addrspace(3) %v163, align 16
  %v166 = sext i32 %v2 to i64
  %v167 = mul i64 %v166, 32
  %v168 = sext i32 %p6 to i64
  %v169 = sub i64 %v168, %v167
  %v170 = call i64 @llvm.smax.i64(i64 %v169, i64 0)
  %v171 = call i64 @llvm.smin.i64(i64 %v170, i64 32)
  %v172 = trunc i64 %v171 to i32
  %v173 = sub i32 %v172, %v11
  %v174 = icmp sgt i32 %v173, 0
  %v175 = sext i32 %v1 to i64
  %v176 = mul i64 %v175, 32
  %v177 = sext i32 %p7 to i64
  %v178 = sub i64 %v177, %v176
  %v179 = call i64 @llvm.smax.i64(i64 %v178, i64 0)
  %v180 = call i64 @llvm.smin.i64(i64 %v179, i64 32)
  %v181 = trunc i64 %v180 to i32
  %v182 = sub i32 %v181, %v21
  %v183 = icmp sgt i32 %v182, 0
  %v184 = and i1 %v174, %v183
  %v186 = sext i32 %v2 to i64
  %v187 = mul i64 %v186, 32
  %v188 = sext i32 %p8 to i64
  %v189 = mul i64 %v188, 4
  %v190 = mul i64 %v187, %v189
  %v191 = sext i32 %v1 to i64
  %v192 = mul i64 %v191, 32
  %v193 = mul i64 %v192, 4
  %v194 = add i64 %v190, %v193
  %v195 = getelementptr i8, ptr addrspace(1) %p5, i64 %v194
  %v196 = sext i32 %v11 to i64
  %v197 = sext i32 %p8 to i64
  %v198 = mul i64 %v197, 4
  %v199 = mul i64 %v196, %v198
  %v200 = mul i32 %v21, 4
  %v201 = sext i32 %v200 to i64
  %v202 = add i64 %v199, %v201
  %v203 = getelementptr i8, ptr addrspace(1) %v195, i64 %v202
  %v204 = extractelement <4 x float> %v161, i32 0
  %v205 = bitcast float %v204 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v203, i1 %v184, i32 %v205)
  %v206 = icmp sgt i32 %v173, 4
  %v207 = and i1 %v206, %v183
  %v209 = sext i32 %p8 to i64
  %v210 = mul i64 %v209, 4
  %v211 = mul i64 %v210, 4
  %v212 = getelementptr i8, ptr addrspace(1) %v203, i64 %v211
  %v213 = extractelement <4 x float> %v161, i32 1
  %v214 = bitcast float %v213 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v212, i1 %v207, i32 %v214)
  %v215 = icmp sgt i32 %v173, 8
  %v216 = and i1 %v215, %v183
  %v218 = sext i32 %p8 to i64
  %v219 = mul i64 %v218, 4
  %v220 = mul i64 %v219, 8
  %v221 = getelementptr i8, ptr addrspace(1) %v203, i64 %v220
  %v222 = extractelement <4 x float> %v161, i32 2
  %v223 = bitcast float %v222 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v221, i1 %v216, i32 %v223)
  %v224 = icmp sgt i32 %v173, 12
  %v225 = and i1 %v224, %v183
  %v227 = sext i32 %p8 to i64
  %v228 = mul i64 %v227, 4
  %v229 = mul i64 %v228, 12
  %v230 = getelementptr i8, ptr addrspace(1) %v203, i64 %v229
  %v231 = extractelement <4 x float> %v161, i32 3
  %v232 = bitcast float %v231 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v230, i1 %v225, i32 %v232)
  %v233 = icmp sgt i32 %v173, 16
  %v234 = and i1 %v233, %v183
  %v236 = sext i32 %p8 to i64
  %v237 = mul i64 %v236, 4
  %v238 = mul i64 %v237, 16
  %v239 = getelementptr i8, ptr addrspace(1) %v203, i64 %v238
  %v240 = extractelement <4 x float> %v164, i32 0
  %v241 = bitcast float %v240 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v239, i1 %v234, i32 %v241)
  %v242 = icmp sgt i32 %v173, 20
  %v243 = and i1 %v242, %v183
  %v245 = sext i32 %p8 to i64
  %v246 = mul i64 %v245, 4
  %v247 = mul i64 %v246, 20
  %v248 = getelementptr i8, ptr addrspace(1) %v203, i64 %v247
  %v249 = extractelement <4 x float> %v164, i32 1
  %v250 = bitcast float %v249 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v248, i1 %v243, i32 %v250)
  %v251 = icmp sgt i32 %v173, 24
  %v252 = and i1 %v251, %v183
  %v254 = sext i32 %p8 to i64
  %v255 = mul i64 %v254, 4
  %v256 = mul i64 %v255, 24
  %v257 = getelementptr i8, ptr addrspace(1) %v203, i64 %v256
  %v258 = extractelement <4 x float> %v164, i32 2
  %v259 = bitcast float %v258 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v257, i1 %v252, i32 %v259)
  %v260 = icmp sgt i32 %v173, 28
  %v261 = and i1 %v260, %v183
  %v263 = sext i32 %p8 to i64
  %v264 = mul i64 %v263, 4
  %v265 = mul i64 %v264, 28
  %v266 = getelementptr i8, ptr addrspace(1) %v203, i64 %v265
  %v267 = extractelement <4 x float> %v164, i32 3
  %v268 = bitcast float %v267 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v266, i1 %v261, i32 %v268)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="128" }
attributes #1 = { convergent nounwind }
