target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
%pack0 = type { float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float, float }
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.umax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
define ptx_kernel void @matmul(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, i32 %p3, i32 %p4, ptr addrspace(1) noalias readonly align 16 %p5, i32 %p6, i32 %p7, i32 %p8, i32 %p9, ptr addrspace(1) align 16 %p10, i32 %p11, i32 %p12, i32 %p13, i32 %p14, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %p15, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %p16) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v3 = ptrtoint ptr addrspace(3) @shared_memory to i32
  %v17 = icmp eq i32 %v1, 128
  %v35 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v211 = lshr i32 %v1, 7
  %v212 = call i32 asm "shfl.sync.idx.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v211, i32 0) #1
  %v266 = and i32 %v1, 31
  %v359 = and i32 %v1, 16
  %v360 = and i32 %v1, 7
  %v361 = shl i32 %v360, 4
  %v362 = xor i32 %v359, %v361
  %v363 = and i32 %v1, 16
  %v364 = shl i32 %v363, 5
  %v365 = xor i32 %v362, %v364
  %v366 = and i32 %v1, 96
  %v367 = shl i32 %v366, 6
  %v368 = xor i32 %v365, %v367
  %v369 = and i32 %v1, 8
  %v370 = shl i32 %v369, 7
  %v371 = xor i32 %v368, %v370
  %v403 = and i32 %v1, 56
  %v404 = shl i32 %v403, 1
  %v405 = and i32 %v1, 71
  %v406 = shl i32 %v405, 4
  %v407 = xor i32 %v404, %v406
  %v408 = and i32 %v1, 4
  %v409 = shl i32 %v408, 5
  %v410 = xor i32 %v407, %v409
  %v411 = and i32 %v1, 2
  %v412 = shl i32 %v411, 7
  %v413 = xor i32 %v410, %v412
  %v414 = and i32 %v1, 1
  %v415 = shl i32 %v414, 9
  %v416 = xor i32 %v413, %v415
  %v438 = lshr i32 %v1, 3
  %v453 = and i32 %v1, 7
  %v454 = shl i32 %v453, 3
  %v2 = icmp eq i32 %v1, 0
  br i1 %v2, label %init1, label %done2
init1:
  call void asm sideeffect "prefetch.tensormap [$0];", "l,~{memory}"(ptr %p15)
  call void asm sideeffect "prefetch.tensormap [$0];", "l,~{memory}"(ptr %p16)
  %v4 = add i32 %v3, 49152
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v4, i32 1)
  %v5 = add i32 %v4, 8
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v5, i32 1)
  %v6 = add i32 %v4, 16
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v6, i32 1)
  %v7 = add i32 %v4, 24
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v7, i32 1)
  %v8 = add i32 %v4, 32
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v8, i32 1)
  %v9 = add i32 %v4, 40
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v9, i32 1)
  %v10 = add i32 %v3, 49280
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v10, i32 4)
  %v11 = add i32 %v10, 8
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v11, i32 4)
  %v12 = add i32 %v10, 16
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v12, i32 4)
  %v13 = add i32 %v10, 24
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v13, i32 4)
  %v14 = add i32 %v10, 32
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v14, i32 4)
  %v15 = add i32 %v10, 40
  call void asm sideeffect "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}"(i32 %v15, i32 4)
  call void asm sideeffect "fence.mbarrier_init.release.cluster;", "~{memory}"()
  call void asm sideeffect "fence.proxy.async.shared::cta;", "~{memory}"()
  br label %done2
done2:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v16 = icmp ult i32 %v1, 128
  br i1 %v16, label %consume3, label %others4
others4:
  br i1 %v17, label %produce5, label %leave6
leave6:
  ret void
produce5:
  %v18 = sdiv i32 %p1, 64
  %v19 = srem i32 %p1, 64
  %v20 = icmp ne i32 %v19, 0
  %v21 = xor i32 %v19, 64
  %v22 = icmp sge i32 %v21, 0
  %v23 = and i1 %v20, %v22
  %v24 = zext i1 %v23 to i32
  %v25 = add i32 %v18, %v24
  %v26 = sdiv i32 %p7, 64
  %v27 = srem i32 %p7, 64
  %v28 = icmp ne i32 %v27, 0
  %v29 = xor i32 %v27, 64
  %v30 = icmp sge i32 %v29, 0
  %v31 = and i1 %v28, %v30
  %v32 = zext i1 %v31 to i32
  %v33 = add i32 %v26, %v32
  %v34 = mul i32 %v33, 4
  %v36 = call i32 @llvm.umax.i32(i32 %v34, i32 1)
  %v37 = sdiv i32 %v35, %v36
  %v38 = mul i32 %v37, %v36
  %v39 = sub i32 %v35, %v38
  %v40 = icmp ne i32 %v39, 0
  %v41 = xor i32 %v39, %v36
  %v42 = icmp slt i32 %v41, 0
  %v43 = and i1 %v40, %v42
  %v44 = sext i1 %v43 to i32
  %v45 = add i32 %v37, %v44
  %v46 = mul i32 %v45, 4
  %v47 = sub i32 %v25, %v46
  %v48 = call i32 @llvm.smin.i32(i32 %v47, i32 4)
  %v49 = call i32 @llvm.umax.i32(i32 %v34, i32 1)
  %v50 = sdiv i32 %v35, %v49
  %v51 = mul i32 %v50, %v49
  %v52 = sub i32 %v35, %v51
  %v53 = icmp ne i32 %v52, 0
  %v54 = xor i32 %v52, %v49
  %v55 = icmp slt i32 %v54, 0
  %v56 = and i1 %v53, %v55
  %v57 = select i1 %v56, i32 %v49, i32 0
  %v58 = add i32 %v52, %v57
  %v59 = call i32 @llvm.umax.i32(i32 %v48, i32 1)
  %v60 = sdiv i32 %v58, %v59
  %v61 = mul i32 %v60, %v59
  %v62 = sub i32 %v58, %v61
  %v63 = icmp ne i32 %v62, 0
  %v64 = xor i32 %v62, %v59
  %v65 = icmp slt i32 %v64, 0
  %v66 = and i1 %v63, %v65
  %v67 = select i1 %v66, i32 %v59, i32 0
  %v68 = add i32 %v62, %v67
  %v69 = add i32 %v46, %v68
  %v70 = call i32 @llvm.umax.i32(i32 %v48, i32 1)
  %v71 = sdiv i32 %v58, %v70
  %v72 = mul i32 %v71, %v70
  %v73 = sub i32 %v58, %v72
  %v74 = icmp ne i32 %v73, 0
  %v75 = xor i32 %v73, %v70
  %v76 = icmp slt i32 %v75, 0
  %v77 = and i1 %v74, %v76
  %v78 = sext i1 %v77 to i32
  %v79 = add i32 %v71, %v78
  %v80 = sdiv i32 %p2, 32
  %v81 = srem i32 %p2, 32
  %v82 = icmp ne i32 %v81, 0
  %v83 = xor i32 %v81, 32
  %v84 = icmp sge i32 %v83, 0
  %v85 = and i1 %v82, %v84
  %v86 = zext i1 %v85 to i32
  %v87 = add i32 %v80, %v86
  %v88 = icmp slt i32 0, %v87
  br i1 %v88, label %loop7, label %done8
loop7:
  %v89 = phi i32 [ 0, %produce5 ], [ %v129, %loop7 ]
  %v90 = phi i32 [ 0, %produce5 ], [ %v124, %loop7 ]
  %v91 = phi i32 [ 0, %produce5 ], [ %v126, %loop7 ]
  %v92 = xor i32 %v91, 1
  %v93 = mul i32 %v90, 8
  %v94 = add i32 %v3, %v93
  %v95 = add i32 %v94, 49280
  call void asm sideeffect "{\0A.reg .pred done;\0AAGAIN_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra PASSED_${:uid};\0Abra AGAIN_${:uid};\0APASSED_${:uid}:\0A}", "r,r,~{memory}"(i32 %v95, i32 %v92) #1
  %v96 = mul i32 %v90, 8
  %v97 = add i32 %v3, %v96
  %v98 = add i32 %v97, 49152
  call void asm sideeffect "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,b,~{memory}"(i32 %v98, i32 8192, i1 %v17)
  %v99 = mul i32 %v90, 4096
  %v100 = add i32 %v3, %v99
  %v101 = mul i32 %v90, 8
  %v102 = add i32 %v3, %v101
  %v103 = add i32 %v102, 49152
  %v104 = mul i32 %v89, 32
  %v105 = mul i32 %v69, 64
  %v106 = icmp sgt i32 %v69, 33554431
  %v107 = select i1 %v106, i32 2147483647, i32 %v105
  %v108 = icmp slt i32 %v69, -33554432
  %v109 = select i1 %v108, i32 -2147483648, i32 %v107
  call void asm sideeffect "@$5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,b,~{memory}"(i32 %v100, ptr %p15, i32 %v103, i32 %v104, i32 %v109, i1 %v17)
  %v110 = mul i32 %v90, 4096
  %v111 = add i32 %v3, %v110
  %v112 = add i32 %v111, 24576
  %v113 = mul i32 %v90, 8
  %v114 = add i32 %v3, %v113
  %v115 = add i32 %v114, 49152
  %v116 = mul i32 %v79, 64
  %v117 = icmp sgt i32 %v79, 33554431
  %v118 = select i1 %v117, i32 2147483647, i32 %v116
  %v119 = icmp slt i32 %v79, -33554432
  %v120 = select i1 %v119, i32 -2147483648, i32 %v118
  %v121 = mul i32 %v89, 32
  call void asm sideeffect "@$5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,b,~{memory}"(i32 %v112, ptr %p16, i32 %v115, i32 %v120, i32 %v121, i1 %v17)
  %v122 = icmp eq i32 %v90, 5
  %v123 = add i32 %v90, 1
  %v124 = select i1 %v122, i32 0, i32 %v123
  %v125 = xor i32 %v91, 1
  %v126 = select i1 %v122, i32 %v125, i32 %v91
  %v127 = sub i32 %v87, %v89
  %v128 = icmp ugt i32 %v127, 1
  %v129 = add i32 %v89, 1
  br i1 %v128, label %loop7, label %done8
done8:
  %v130 = phi i32 [ 0, %produce5 ], [ %v124, %loop7 ]
  %v131 = phi i32 [ 0, %produce5 ], [ %v126, %loop7 ]
  ret void
consume3:
  %v132 = sdiv i32 %p1, 64
  %v133 = srem i32 %p1, 64
  %v134 = icmp ne i32 %v133, 0
  %v135 = xor i32 %v133, 64
  %v136 = icmp sge i32 %v135, 0
  %v137 = and i1 %v134, %v136
  %v138 = zext i1 %v137 to i32
  %v139 = add i32 %v132, %v138
  %v140 = sdiv i32 %p7, 64
  %v141 = srem i32 %p7, 64
  %v142 = icmp ne i32 %v141, 0
  %v143 = xor i32 %v141, 64
  %v144 = icmp sge i32 %v143, 0
  %v145 = and i1 %v142, %v144
  %v146 = zext i1 %v145 to i32
  %v147 = add i32 %v140, %v146
  %v148 = mul i32 %v147, 4
  %v149 = call i32 @llvm.umax.i32(i32 %v148, i32 1)
  %v150 = sdiv i32 %v35, %v149
  %v151 = mul i32 %v150, %v149
  %v152 = sub i32 %v35, %v151
  %v153 = icmp ne i32 %v152, 0
  %v154 = xor i32 %v152, %v149
  %v155 = icmp slt i32 %v154, 0
  %v156 = and i1 %v153, %v155
  %v157 = sext i1 %v156 to i32
  %v158 = add i32 %v150, %v157
  %v159 = mul i32 %v158, 4
  %v160 = sub i32 %v139, %v159
  %v161 = call i32 @llvm.smin.i32(i32 %v160, i32 4)
  %v162 = call i32 @llvm.umax.i32(i32 %v148, i32 1)
  %v163 = sdiv i32 %v35, %v162
  %v164 = mul i32 %v163, %v162
  %v165 = sub i32 %v35, %v164
  %v166 = icmp ne i32 %v165, 0
  %v167 = xor i32 %v165, %v162
  %v168 = icmp slt i32 %v167, 0
  %v169 = and i1 %v166, %v168
  %v170 = select i1 %v169, i32 %v162, i32 0
  %v171 = add i32 %v165, %v170
  %v172 = call i32 @llvm.umax.i32(i32 %v161, i32 1)
  %v173 = sdiv i32 %v171, %v172
  %v174 = mul i32 %v173, %v172
  %v175 = sub i32 %v171, %v174
  %v176 = icmp ne i32 %v175, 0
  %v177 = xor i32 %v175, %v172
  %v178 = icmp slt i32 %v177, 0
  %v179 = and i1 %v176, %v178
  %v180 = select i1 %v179, i32 %v172, i32 0
  %v181 = add i32 %v175, %v180
  %v182 = add i32 %v159, %v181
  %v183 = call i32 @llvm.umax.i32(i32 %v161, i32 1)
  %v184 = sdiv i32 %v171, %v183
  %v185 = mul i32 %v184, %v183
  %v186 = sub i32 %v171, %v185
  %v187 = icmp ne i32 %v186, 0
  %v188 = xor i32 %v186, %v183
  %v189 = icmp slt i32 %v188, 0
  %v190 = and i1 %v187, %v189
  %v191 = sext i1 %v190 to i32
  %v192 = add i32 %v184, %v191
  %v193 = sdiv i32 %p2, 32
  %v194 = srem i32 %p2, 32
  %v195 = icmp ne i32 %v194, 0
  %v196 = xor i32 %v194, 32
  %v197 = icmp sge i32 %v196, 0
  %v198 = and i1 %v195, %v197
  %v199 = zext i1 %v198 to i32
  %v200 = add i32 %v193, %v199
  %v201 = icmp slt i32 0, %v200
  br i1 %v201, label %loop9, label %done10
loop9:
  %v202 = phi i32 [ 0, %consume3 ], [ %v279, %loop9 ]
  %v203.lane0 = phi float [ 0x0000000000000000, %consume3 ], [ %v229, %loop9 ]
  %v203.lane1 = phi float [ 0x0000000000000000, %consume3 ], [ %v230, %loop9 ]
  %v203.lane2 = phi float [ 0x0000000000000000, %consume3 ], [ %v231, %loop9 ]
  %v203.lane3 = phi float [ 0x0000000000000000, %consume3 ], [ %v232, %loop9 ]
  %v203.lane4 = phi float [ 0x0000000000000000, %consume3 ], [ %v233, %loop9 ]
  %v203.lane5 = phi float [ 0x0000000000000000, %consume3 ], [ %v234, %loop9 ]
  %v203.lane6 = phi float [ 0x0000000000000000, %consume3 ], [ %v235, %loop9 ]
  %v203.lane7 = phi float [ 0x0000000000000000, %consume3 ], [ %v236, %loop9 ]
  %v203.lane8 = phi float [ 0x0000000000000000, %consume3 ], [ %v237, %loop9 ]
  %v203.lane9 = phi float [ 0x0000000000000000, %consume3 ], [ %v238, %loop9 ]
  %v203.lane10 = phi float [ 0x0000000000000000, %consume3 ], [ %v239, %loop9 ]
  %v203.lane11 = phi float [ 0x0000000000000000, %consume3 ], [ %v240, %loop9 ]
  %v203.lane12 = phi float [ 0x0000000000000000, %consume3 ], [ %v241, %loop9 ]
  %v203.lane13 = phi float [ 0x0000000000000000, %consume3 ], [ %v242, %loop9 ]
  %v203.lane14 = phi float [ 0x0000000000000000, %consume3 ], [ %v243, %loop9 ]
  %v203.lane15 = phi float [ 0x0000000000000000, %consume3 ], [ %v244, %loop9 ]
  %v203.lane16 = phi float [ 0x0000000000000000, %consume3 ], [ %v245, %loop9 ]
  %v203.lane17 = phi float [ 0x0000000000000000, %consume3 ], [ %v246, %loop9 ]
  %v203.lane18 = phi float [ 0x0000000000000000, %consume3 ], [ %v247, %loop9 ]
  %v203.lane19 = phi float [ 0x0000000000000000, %consume3 ], [ %v248, %loop9 ]
  %v203.lane20 = phi float [ 0x0000000000000000, %consume3 ], [ %v249, %loop9 ]
  %v203.lane21 = phi float [ 0x0000000000000000, %consume3 ], [ %v250, %loop9 ]
  %v203.lane22 = phi float [ 0x0000000000000000, %consume3 ], [ %v251, %loop9 ]
  %v203.lane23 = phi float [ 0x0000000000000000, %consume3 ], [ %v252, %loop9 ]
  %v203.lane24 = phi float [ 0x0000000000000000, %consume3 ], [ %v253, %loop9 ]
  %v203.lane25 = phi float [ 0x0000000000000000, %consume3 ], [ %v254, %loop9 ]
  %v203.lane26 = phi float [ 0x0000000000000000, %consume3 ], [ %v255, %loop9 ]
  %v203.lane27 = phi float [ 0x0000000000000000, %consume3 ], [ %v256, %loop9 ]
  %v203.lane28 = phi float [ 0x0000000000000000, %consume3 ], [ %v257, %loop9 ]
  %v203.lane29 = phi float [ 0x0000000000000000, %consume3 ], [ %v258, %loop9 ]
  %v203.lane30 = phi float [ 0x0000000000000000, %consume3 ], [ %v259, %loop9 ]
  %v203.lane31 = phi float [ 0x0000000000000000, %consume3 ], [ %v260, %loop9 ]
  %v204 = phi i32 [ 0, %consume3 ], [ %v274, %loop9 ]
  %v205 = phi i32 [ 0, %consume3 ], [ %v276, %loop9 ]
  %v206 = mul i32 %v204, 8
  %v207 = add i32 %v3, %v206
  %v208 = add i32 %v207, 49152
  call void asm sideeffect "{\0A.reg .pred done;\0AAGAIN_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra PASSED_${:uid};\0Abra AGAIN_${:uid};\0APASSED_${:uid}:\0A}", "r,r,~{memory}"(i32 %v208, i32 %v205) #1
  %v209 = mul i32 %v204, 4096
  %v210 = mul i32 %v204, 4096
  %v213 = and i32 %v212, 0
  %v214 = mul i32 %v213, 64
  %v215 = and i32 %v212, 0
  %v216 = mul i32 %v215, 64
  %v217 = add i32 %v3, %v210
  %v218 = add i32 %v217, 24576
  %v219 = lshr i32 %v218, 4
  %v220 = zext i32 %v219 to i64
  %v221 = or i64 %v220, 4611686293322072064
  %v222 = add i32 %v3, %v209
  %v223 = lshr i32 %v222, 4
  %v224 = zext i32 %v223 to i64
  %v225 = or i64 %v224, -9223371899415756800
  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"() #1
  %v226 = add i64 %v225, 2
  %v227 = add i64 %v221, 128
  %v228 = call %pack0 asm sideeffect "{ .reg .pred p; setp.ne.b32 p, $36, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31}, $32, $33, p, 1, 1, 0, 1; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31}, $34, $35, 1, 1, 1, 0, 1; }", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,l,l,l,l,r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,~{memory}"(i64 %v225, i64 %v221, i64 %v226, i64 %v227, i32 1, float %v203.lane0, float %v203.lane1, float %v203.lane2, float %v203.lane3, float %v203.lane4, float %v203.lane5, float %v203.lane6, float %v203.lane7, float %v203.lane8, float %v203.lane9, float %v203.lane10, float %v203.lane11, float %v203.lane12, float %v203.lane13, float %v203.lane14, float %v203.lane15, float %v203.lane16, float %v203.lane17, float %v203.lane18, float %v203.lane19, float %v203.lane20, float %v203.lane21, float %v203.lane22, float %v203.lane23, float %v203.lane24, float %v203.lane25, float %v203.lane26, float %v203.lane27, float %v203.lane28, float %v203.lane29, float %v203.lane30, float %v203.lane31) #1
  %v229 = extractvalue %pack0 %v228, 0
  %v230 = extractvalue %pack0 %v228, 1
  %v231 = extractvalue %pack0 %v228, 2
  %v232 = extractvalue %pack0 %v228, 3
  %v233 = extractvalue %pack0 %v228, 4
  %v234 = extractvalue %pack0 %v228, 5
  %v235 = extractvalue %pack0 %v228, 6
  %v236 = extractvalue %pack0 %v228, 7
  %v237 = extractvalue %pack0 %v228, 8
  %v238 = extractvalue %pack0 %v228, 9
  %v239 = extractvalue %pack0 %v228, 10
  %v240 = extractvalue %pack0 %v228, 11
  %v241 = extractvalue %pack0 %v228, 12
  %v242 = extractvalue %pack0 %v228, 13
  %v243 = extractvalue %pack0 %v228, 14
  %v244 = extractvalue %pack0 %v228, 15
  %v245 = extractvalue %pack0 %v228, 16
  %v246 = extractvalue %pack0 %v228, 17
  %v247 = extractvalue %pack0 %v228, 18
  %v248 = extractvalue %pack0 %v228, 19
  %v249 = extractvalue %pack0 %v228, 20
  %v250 = extractvalue %pack0 %v228, 21
  %v251 = extractvalue %pack0 %v228, 22
  %v252 = extractvalue %pack0 %v228, 23
  %v253 = extractvalue %pack0 %v228, 24
  %v254 = extractvalue %pack0 %v228, 25
  %v255 = extractvalue %pack0 %v228, 26
  %v256 = extractvalue %pack0 %v228, 27
  %v257 = extractvalue %pack0 %v228, 28
  %v258 = extractvalue %pack0 %v228, 29
  %v259 = extractvalue %pack0 %v228, 30
  %v260 = extractvalue %pack0 %v228, 31
  call void asm sideeffect "wgmma.commit_group.sync.aligned;", "~{memory}"() #1
  call void asm sideeffect "wgmma.wait_group.sync.aligned 1;", "~{memory}"() #1
  %v262 = icmp sgt i32 %v202, 0
  %v263 = icmp eq i32 %v204, 0
  %v264 = sub i32 %v204, 1
  %v265 = select i1 %v263, i32 5, i32 %v264
  call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() #1
  %v267 = icmp ult i32 %v266, 1
  %v268 = and i1 %v267, %v262
  %v269 = mul i32 %v265, 8
  %v270 = add i32 %v3, %v269
  %v271 = add i32 %v270, 49280
  call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"(i32 %v271, i1 %v268)
  %v272 = icmp eq i32 %v204, 5
  %v273 = add i32 %v204, 1
  %v274 = select i1 %v272, i32 0, i32 %v273
  %v275 = xor i32 %v205, 1
  %v276 = select i1 %v272, i32 %v275, i32 %v205
  %v277 = sub i32 %v200, %v202
  %v278 = icmp ugt i32 %v277, 1
  %v279 = add i32 %v202, 1
  br i1 %v278, label %loop9, label %done10
done10:
  %v280.lane0 = phi float [ 0x0000000000000000, %consume3 ], [ %v229, %loop9 ]
  %v280.lane1 = phi float [ 0x0000000000000000, %consume3 ], [ %v230, %loop9 ]
  %v280.lane2 = phi float [ 0x0000000000000000, %consume3 ], [ %v231, %loop9 ]
  %v280.lane3 = phi float [ 0x0000000000000000, %consume3 ], [ %v232, %loop9 ]
  %v280.lane4 = phi float [ 0x0000000000000000, %consume3 ], [ %v233, %loop9 ]
  %v280.lane5 = phi float [ 0x0000000000000000, %consume3 ], [ %v234, %loop9 ]
  %v280.lane6 = phi float [ 0x0000000000000000, %consume3 ], [ %v235, %loop9 ]
  %v280.lane7 = phi float [ 0x0000000000000000, %consume3 ], [ %v236, %loop9 ]
  %v280.lane8 = phi float [ 0x0000000000000000, %consume3 ], [ %v237, %loop9 ]
  %v280.lane9 = phi float [ 0x0000000000000000, %consume3 ], [ %v238, %loop9 ]
  %v280.lane10 = phi float [ 0x0000000000000000, %consume3 ], [ %v239, %loop9 ]
  %v280.lane11 = phi float [ 0x0000000000000000, %consume3 ], [ %v240, %loop9 ]
  %v280.lane12 = phi float [ 0x0000000000000000, %consume3 ], [ %v241, %loop9 ]
  %v280.lane13 = phi float [ 0x0000000000000000, %consume3 ], [ %v242, %loop9 ]
  %v280.lane14 = phi float [ 0x0000000000000000, %consume3 ], [ %v243, %loop9 ]
  %v280.lane15 = phi float [ 0x0000000000000000, %consume3 ], [ %v244, %loop9 ]
  %v280.lane16 = phi float [ 0x0000000000000000, %consume3 ], [ %v245, %loop9 ]
  %v280.lane17 = phi float [ 0x0000000000000000, %consume3 ], [ %v246, %loop9 ]
  %v280.lane18 = phi float [ 0x0000000000000000, %consume3 ], [ %v247, %loop9 ]
  %v280.lane19 = phi float [ 0x0000000000000000, %consume3 ], [ %v248, %loop9 ]
  %v280.lane20 = phi float [ 0x0000000000000000, %consume3 ], [ %v249, %loop9 ]
  %v280.lane21 = phi float [ 0x0000000000000000, %consume3 ], [ %v250, %loop9 ]
  %v280.lane22 = phi float [ 0x0000000000000000, %consume3 ], [ %v251, %loop9 ]
  %v280.lane23 = phi float [ 0x0000000000000000, %consume3 ], [ %v252, %loop9 ]
  %v280.lane24 = phi float [ 0x0000000000000000, %consume3 ], [ %v253, %loop9 ]
  %v280.lane25 = phi float [ 0x0000000000000000, %consume3 ], [ %v254, %loop9 ]
  %v280.lane26 = phi float [ 0x0000000000000000, %consume3 ], [ %v255, %loop9 ]
  %v280.lane27 = phi float [ 0x0000000000000000, %consume3 ], [ %v256, %loop9 ]
  %v280.lane28 = phi float [ 0x0000000000000000, %consume3 ], [ %v257, %loop9 ]
  %v280.lane29 = phi float [ 0x0000000000000000, %consume3 ], [ %v258, %loop9 ]
  %v280.lane30 = phi float [ 0x0000000000000000, %consume3 ], [ %v259, %loop9 ]
  %v280.lane31 = phi float [ 0x0000000000000000, %consume3 ], [ %v260, %loop9 ]
  %v281 = phi i32 [ 0, %consume3 ], [ %v274, %loop9 ]
  %v282 = phi i32 [ 0, %consume3 ], [ %v276, %loop9 ]
  %v283 = call %pack0 asm sideeffect "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,~{memory}"(float %v280.lane0, float %v280.lane1, float %v280.lane2, float %v280.lane3, float %v280.lane4, float %v280.lane5, float %v280.lane6, float %v280.lane7, float %v280.lane8, float %v280.lane9, float %v280.lane10, float %v280.lane11, float %v280.lane12, float %v280.lane13, float %v280.lane14, float %v280.lane15, float %v280.lane16, float %v280.lane17, float %v280.lane18, float %v280.lane19, float %v280.lane20, float %v280.lane21, float %v280.lane22, float %v280.lane23, float %v280.lane24, float %v280.lane25, float %v280.lane26, float %v280.lane27, float %v280.lane28, float %v280.lane29, float %v280.lane30, float %v280.lane31) #1
  %v284 = extractvalue %pack0 %v283, 0
  %v285 = extractvalue %pack0 %v283, 1
  %v286 = extractvalue %pack0 %v283, 2
  %v287 = extractvalue %pack0 %v283, 3
  %v288 = extractvalue %pack0 %v283, 4
  %v289 = extractvalue %pack0 %v283, 5
  %v290 = extractvalue %pack0 %v283, 6
  %v291 = extractvalue %pack0 %v283, 7
  %v292 = extractvalue %pack0 %v283, 8
  %v293 = extractvalue %pack0 %v283, 9
  %v294 = extractvalue %pack0 %v283, 10
  %v295 = extractvalue %pack0 %v283, 11
  %v296 = extractvalue %pack0 %v283, 12
  %v297 = extractvalue %pack0 %v283, 13
  %v298 = extractvalue %pack0 %v283, 14
  %v299 = extractvalue %pack0 %v283, 15
  %v300 = extractvalue %pack0 %v283, 16
  %v301 = extractvalue %pack0 %v283, 17
  %v302 = extractvalue %pack0 %v283, 18
  %v303 = extractvalue %pack0 %v283, 19
  %v304 = extractvalue %pack0 %v283, 20
  %v305 = extractvalue %pack0 %v283, 21
  %v306 = extractvalue %pack0 %v283, 22
  %v307 = extractvalue %pack0 %v283, 23
  %v308 = extractvalue %pack0 %v283, 24
  %v309 = extractvalue %pack0 %v283, 25
  %v310 = extractvalue %pack0 %v283, 26
  %v311 = extractvalue %pack0 %v283, 27
  %v312 = extractvalue %pack0 %v283, 28
  %v313 = extractvalue %pack0 %v283, 29
  %v314 = extractvalue %pack0 %v283, 30
  %v315 = extractvalue %pack0 %v283, 31
  %v317 = icmp slt i32 0, %v200
  %v318 = icmp eq i32 %v281, 0
  %v319 = sub i32 %v281, 1
  %v320 = select i1 %v318, i32 5, i32 %v319
  call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() #1
  %v321 = icmp ult i32 %v266, 1
  %v322 = and i1 %v321, %v317
  %v323 = mul i32 %v320, 8
  %v324 = add i32 %v3, %v323
  %v325 = add i32 %v324, 49280
  call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"(i32 %v325, i1 %v322)
  %v326.0 = insertelement <2 x float> poison, float %v284, i32 0
  %v326 = insertelement <2 x float> %v326.0, float %v285, i32 1
  %v327.0 = insertelement <2 x float> poison, float %v286, i32 0
  %v327 = insertelement <2 x float> %v327.0, float %v287, i32 1
  %v328.0 = insertelement <2 x float> poison, float %v288, i32 0
  %v328 = insertelement <2 x float> %v328.0, float %v289, i32 1
  %v329.0 = insertelement <2 x float> poison, float %v290, i32 0
  %v329 = insertelement <2 x float> %v329.0, float %v291, i32 1
  %v330.0 = insertelement <2 x float> poison, float %v292, i32 0
  %v330 = insertelement <2 x float> %v330.0, float %v293, i32 1
  %v331.0 = insertelement <2 x float> poison, float %v294, i32 0
  %v331 = insertelement <2 x float> %v331.0, float %v295, i32 1
  %v332.0 = insertelement <2 x float> poison, float %v296, i32 0
  %v332 = insertelement <2 x float> %v332.0, float %v297, i32 1
  %v333.0 = insertelement <2 x float> poison, float %v298, i32 0
  %v333 = insertelement <2 x float> %v333.0, float %v299, i32 1
  %v334.0 = insertelement <2 x float> poison, float %v300, i32 0
  %v334 = insertelement <2 x float> %v334.0, float %v301, i32 1
  %v335.0 = insertelement <2 x float> poison, float %v302, i32 0
  %v335 = insertelement <2 x float> %v335.0, float %v303, i32 1
  %v336.0 = insertelement <2 x float> poison, float %v304, i32 0
  %v336 = insertelement <2 x float> %v336.0, float %v305, i32 1
  %v337.0 = insertelement <2 x float> poison, float %v306, i32 0
  %v337 = insertelement <2 x float> %v337.0, float %v307, i32 1
  %v338.0 = insertelement <2 x float> poison, float %v308, i32 0
  %v338 = insertelement <2 x float> %v338.0, float %v309, i32 1
  %v339.0 = insertelement <2 x float> poison, float %v310, i32 0
  %v339 = insertelement <2 x float> %v339.0, float %v311, i32 1
  %v340.0 = insertelement <2 x float> poison, float %v312, i32 0
  %v340 = insertelement <2 x float> %v340.0, float %v313, i32 1
  %v341.0 = insertelement <2 x float> poison, float %v314, i32 0
  %v341 = insertelement <2 x float> %v341.0, float %v315, i32 1
  %v342 = fptrunc <2 x float> %v326 to <2 x half>
  %v343 = fptrunc <2 x float> %v327 to <2 x half>
  %v344 = fptrunc <2 x float> %v328 to <2 x half>
  %v345 = fptrunc <2 x float> %v329 to <2 x half>
  %v346 = fptrunc <2 x float> %v330 to <2 x half>
  %v347 = fptrunc <2 x float> %v331 to <2 x half>
  %v348 = fptrunc <2 x float> %v332 to <2 x half>
  %v349 = fptrunc <2 x float> %v333 to <2 x half>
  %v350 = fptrunc <2 x float> %v334 to <2 x half>
  %v351 = fptrunc <2 x float> %v335 to <2 x half>
  %v352 = fptrunc <2 x float> %v336 to <2 x half>
  %v353 = fptrunc <2 x float> %v337 to <2 x half>
  %v354 = fptrunc <2 x float> %v338 to <2 x half>
  %v355 = fptrunc <2 x float> %v339 to <2 x half>
  %v356 = fptrunc <2 x float> %v340 to <2 x half>
  %v357 = fptrunc <2 x float> %v341 to <2 x half>
  %v372 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v371
  %v373 = getelementptr i8, ptr addrspace(3) %v372, i64 49408
  %v374 = bitcast <2 x half> %v342 to i32
  %v375 = bitcast <2 x half> %v343 to i32
  %v376 = bitcast <2 x half> %v344 to i32
  %v377 = bitcast <2 x half> %v345 to i32
  %v378 = ptrtoint ptr addrspace(3) %v373 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v378, i32 %v374, i32 %v375, i32 %v376, i32 %v377) #1
  %v379 = xor i32 %v371, 32
  %v380 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v379
  %v381 = getelementptr i8, ptr addrspace(3) %v380, i64 49664
  %v382 = bitcast <2 x half> %v346 to i32
  %v383 = bitcast <2 x half> %v347 to i32
  %v384 = bitcast <2 x half> %v348 to i32
  %v385 = bitcast <2 x half> %v349 to i32
  %v386 = ptrtoint ptr addrspace(3) %v381 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v386, i32 %v382, i32 %v383, i32 %v384, i32 %v385) #1
  %v387 = xor i32 %v371, 64
  %v388 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v387
  %v389 = getelementptr i8, ptr addrspace(3) %v388, i64 49536
  %v390 = bitcast <2 x half> %v350 to i32
  %v391 = bitcast <2 x half> %v351 to i32
  %v392 = bitcast <2 x half> %v352 to i32
  %v393 = bitcast <2 x half> %v353 to i32
  %v394 = ptrtoint ptr addrspace(3) %v389 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v394, i32 %v390, i32 %v391, i32 %v392, i32 %v393) #1
  %v395 = xor i32 %v371, 96
  %v396 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v395
  %v397 = getelementptr i8, ptr addrspace(3) %v396, i64 49792
  %v398 = bitcast <2 x half> %v354 to i32
  %v399 = bitcast <2 x half> %v355 to i32
  %v400 = bitcast <2 x half> %v356 to i32
  %v401 = bitcast <2 x half> %v357 to i32
  %v402 = ptrtoint ptr addrspace(3) %v397 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v402, i32 %v398, i32 %v399, i32 %v400, i32 %v401) #1
  call void asm sideeffect "bar.sync $0, $1;", "r,r,~{memory}"(i32 1, i32 128) #1
  %v417 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v416
  %v418 = getelementptr i8, ptr addrspace(3) %v417, i64 49408
  %v419 = load <8 x half>, ptr addrspace(3) %v418, align 16
  %v420 = getelementptr i8, ptr addrspace(3) %v417, i64 51456
  %v421 = load <8 x half>, ptr addrspace(3) %v420, align 16
  %v422 = getelementptr i8, ptr addrspace(3) %v417, i64 53504
  %v423 = load <8 x half>, ptr addrspace(3) %v422, align 16
  %v424 = getelementptr i8, ptr addrspace(3) %v417, i64 55552
  %v425 = load <8 x half>, ptr addrspace(3) %v424, align 16
  %v427 = sext i32 %v182 to i64
  %v428 = mul i64 %v427, 64
  %v429 = sext i32 %p11 to i64
  %v430 = sub i64 0, %v428
  %v431 = call i64 @llvm.smax.i64(i64 %v430, i64 0)
  %v432 = call i64 @llvm.smin.i64(i64 %v431, i64 64)
  %v433 = trunc i64 %v432 to i32
  %v434 = sub i64 %v429, %v428
  %v435 = call i64 @llvm.smax.i64(i64 %v434, i64 0)
  %v436 = call i64 @llvm.smin.i64(i64 %v435, i64 64)
  %v437 = trunc i64 %v436 to i32
  %v439 = icmp slt i32 %v438, %v437
  %v440 = icmp sge i32 %v438, %v433
  %v441 = and i1 %v439, %v440
  %v442 = sext i32 %v192 to i64
  %v443 = mul i64 %v442, 64
  %v444 = sext i32 %p12 to i64
  %v445 = sub i64 0, %v443
  %v446 = call i64 @llvm.smax.i64(i64 %v445, i64 0)
  %v447 = call i64 @llvm.smin.i64(i64 %v446, i64 64)
  %v448 = trunc i64 %v447 to i32
  %v449 = sub i64 %v444, %v443
  %v450 = call i64 @llvm.smax.i64(i64 %v449, i64 0)
  %v451 = call i64 @llvm.smin.i64(i64 %v450, i64 64)
  %v452 = trunc i64 %v451 to i32
  %v455 = icmp slt i32 %v454, %v452
  %v456 = icmp sge i32 %v454, %v448
  %v457 = and i1 %v455, %v456
  %v458 = and i1 %v441, %v457
  %v459 = sext i32 %v182 to i64
  %v460 = mul i64 %v459, 64
  %v461 = sext i32 %p13 to i64
  %v462 = mul i64 %v461, 2
  %v463 = mul i64 %v460, %v462
  %v464 = sext i32 %v192 to i64
  %v465 = mul i64 %v464, 64
  %v466 = mul i64 %v465, 2
  %v467 = add i64 %v463, %v466
  %v468 = getelementptr i8, ptr addrspace(1) %p10, i64 %v467
  %v469 = sext i32 %v438 to i64
  %v470 = sext i32 %p13 to i64
  %v471 = mul i64 %v470, 2
  %v472 = mul i64 %v469, %v471
  %v473 = mul i32 %v454, 2
  %v474 = sext i32 %v473 to i64
  %v475 = add i64 %v472, %v474
  %v476 = getelementptr i8, ptr addrspace(1) %v468, i64 %v475
  %v477 = bitcast <8 x half> %v419 to <4 x i32>
  %v478 = extractelement <4 x i32> %v477, i32 0
  %v479 = extractelement <4 x i32> %v477, i32 1
  %v480 = extractelement <4 x i32> %v477, i32 2
  %v481 = extractelement <4 x i32> %v477, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v476, i1 %v458, i32 %v478, i32 %v479, i32 %v480, i32 %v481)
  %v482 = sub i32 %v437, 16
  %v483 = icmp slt i32 %v438, %v482
  %v484 = sub i32 %v433, 16
  %v485 = icmp sge i32 %v438, %v484
  %v486 = and i1 %v483, %v485
  %v487 = and i1 %v486, %v457
  %v488 = sext i32 %p13 to i64
  %v489 = mul i64 %v488, 2
  %v490 = mul i64 %v489, 16
  %v491 = getelementptr i8, ptr addrspace(1) %v476, i64 %v490
  %v492 = bitcast <8 x half> %v421 to <4 x i32>
  %v493 = extractelement <4 x i32> %v492, i32 0
  %v494 = extractelement <4 x i32> %v492, i32 1
  %v495 = extractelement <4 x i32> %v492, i32 2
  %v496 = extractelement <4 x i32> %v492, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v491, i1 %v487, i32 %v493, i32 %v494, i32 %v495, i32 %v496)
  %v497 = sub i32 %v437, 32
  %v498 = icmp slt i32 %v438, %v497
  %v499 = sub i32 %v433, 32
  %v500 = icmp sge i32 %v438, %v499
  %v501 = and i1 %v498, %v500
  %v502 = and i1 %v501, %v457
  %v503 = sext i32 %p13 to i64
  %v504 = mul i64 %v503, 2
  %v505 = mul i64 %v504, 32
  %v506 = getelementptr i8, ptr addrspace(1) %v476, i64 %v505
  %v507 = bitcast <8 x half> %v423 to <4 x i32>
  %v508 = extractelement <4 x i32> %v507, i32 0
  %v509 = extractelement <4 x i32> %v507, i32 1
  %v510 = extractelement <4 x i32> %v507, i32 2
  %v511 = extractelement <4 x i32> %v507, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v506, i1 %v502, i32 %v508, i32 %v509, i32 %v510, i32 %v511)
  %v512 = sub i32 %v437, 48
  %v513 = icmp slt i32 %v438, %v512
  %v514 = sub i32 %v433, 48
  %v515 = icmp sge i32 %v438, %v514
  %v516 = and i1 %v513, %v515
  %v517 = and i1 %v516, %v457
  %v518 = sext i32 %p13 to i64
  %v519 = mul i64 %v518, 2
  %v520 = mul i64 %v519, 48
  %v521 = getelementptr i8, ptr addrspace(1) %v476, i64 %v520
  %v522 = bitcast <8 x half> %v425 to <4 x i32>
  %v523 = extractelement <4 x i32> %v522, i32 0
  %v524 = extractelement <4 x i32> %v522, i32 1
  %v525 = extractelement <4 x i32> %v522, i32 2
  %v526 = extractelement <4 x i32> %v522, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v521, i1 %v517, i32 %v523, i32 %v524, i32 %v525, i32 %v526)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="160" }
attributes #1 = { convergent nounwind }
