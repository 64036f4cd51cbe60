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
  %v33 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v71 = icmp eq i32 %v1, 128
  %v113 = lshr i32 %v1, 7
  %v114 = call i32 asm "shfl.sync.idx.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v113, i32 0) #1
  %v165 = and i32 %v1, 31
  %v258 = and i32 %v1, 16
  %v259 = and i32 %v1, 7
  %v260 = shl i32 %v259, 4
  %v261 = xor i32 %v258, %v260
  %v262 = shl i32 %v258, 5
  %v263 = xor i32 %v261, %v262
  %v264 = and i32 %v1, 96
  %v265 = shl i32 %v264, 6
  %v266 = xor i32 %v263, %v265
  %v267 = and i32 %v1, 8
  %v268 = shl i32 %v267, 7
  %v269 = xor i32 %v266, %v268
  %v301 = and i32 %v1, 56
  %v302 = shl i32 %v301, 1
  %v303 = and i32 %v1, 71
  %v304 = shl i32 %v303, 4
  %v305 = xor i32 %v302, %v304
  %v306 = and i32 %v1, 4
  %v307 = shl i32 %v306, 5
  %v308 = xor i32 %v305, %v307
  %v309 = and i32 %v1, 2
  %v310 = shl i32 %v309, 7
  %v311 = xor i32 %v308, %v310
  %v312 = and i32 %v1, 1
  %v313 = shl i32 %v312, 9
  %v314 = xor i32 %v311, %v313
  %v336 = lshr i32 %v1, 3
  %v351 = shl i32 %v259, 3
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
  %v16 = sdiv i32 %p1, 64
  %v17 = srem i32 %p1, 64
  %v18 = icmp ne i32 %v17, 0
  %v19 = xor i32 %v17, 64
  %v20 = icmp sge i32 %v19, 0
  %v21 = and i1 %v18, %v20
  %v22 = zext i1 %v21 to i32
  %v23 = add i32 %v16, %v22
  %v24 = sdiv i32 %p7, 64
  %v25 = srem i32 %p7, 64
  %v26 = icmp ne i32 %v25, 0
  %v27 = xor i32 %v25, 64
  %v28 = icmp sge i32 %v27, 0
  %v29 = and i1 %v26, %v28
  %v30 = zext i1 %v29 to i32
  %v31 = add i32 %v24, %v30
  %v32 = mul i32 %v31, 4
  %v34 = call i32 @llvm.umax.i32(i32 %v32, i32 1)
  %v35 = sdiv i32 %v33, %v34
  %v36 = mul i32 %v35, %v34
  %v37 = sub i32 %v33, %v36
  %v38 = icmp ne i32 %v37, 0
  %v39 = xor i32 %v37, %v34
  %v40 = icmp slt i32 %v39, 0
  %v41 = and i1 %v38, %v40
  %v42 = sext i1 %v41 to i32
  %v43 = add i32 %v35, %v42
  %v44 = mul i32 %v43, 4
  %v45 = sub i32 %v23, %v44
  %v46 = call i32 @llvm.smin.i32(i32 %v45, i32 4)
  %v47 = select i1 %v41, i32 %v34, i32 0
  %v48 = add i32 %v37, %v47
  %v49 = call i32 @llvm.umax.i32(i32 %v46, i32 1)
  %v50 = sdiv i32 %v48, %v49
  %v51 = mul i32 %v50, %v49
  %v52 = sub i32 %v48, %v51
  %v53 = icmp ne i32 %v52, 0
  %v54 = xor i32 %v52, %v49
  %v55 = icmp slt i32 %v54, 0
  %v56 = and i1 %v53, %v55
  %v57 = select i1 %v56, i32 %v49, i32 0
  %v58 = add i32 %v52, %v57
  %v59 = add i32 %v44, %v58
  %v60 = sext i1 %v56 to i32
  %v61 = add i32 %v50, %v60
  %v62 = sdiv i32 %p2, 32
  %v63 = srem i32 %p2, 32
  %v64 = icmp ne i32 %v63, 0
  %v65 = xor i32 %v63, 32
  %v66 = icmp sge i32 %v65, 0
  %v67 = and i1 %v64, %v66
  %v68 = zext i1 %v67 to i32
  %v69 = add i32 %v62, %v68
  %v70 = icmp ult i32 %v1, 128
  br i1 %v70, label %consume3, label %others4
others4:
  br i1 %v71, label %produce5, label %leave6
leave6:
  ret void
produce5:
  %v72 = icmp slt i32 0, %v69
  br i1 %v72, label %loop7, label %done8
loop7:
  %v73 = phi i32 [ 0, %produce5 ], [ %v101, %loop7 ]
  %v74 = phi i32 [ 0, %produce5 ], [ %v97, %loop7 ]
  %v75 = phi i32 [ 0, %produce5 ], [ %v98, %loop7 ]
  %v76 = xor i32 %v75, 1
  %v77 = mul i32 %v74, 8
  %v78 = add i32 %v3, %v77
  %v79 = add i32 %v78, 49280
  call void asm sideeffect "{\0A.reg .pred done;\0AAGAIN_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra PASSED_${:uid};\0Abra AGAIN_${:uid};\0APASSED_${:uid}:\0A}", "r,r,~{memory}"(i32 %v79, i32 %v76) #1
  %v80 = add i32 %v78, 49152
  call void asm sideeffect "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,b,~{memory}"(i32 %v80, i32 8192, i1 %v71)
  %v81 = mul i32 %v74, 4096
  %v82 = add i32 %v3, %v81
  %v83 = mul i32 %v73, 32
  %v84 = mul i32 %v59, 64
  %v85 = icmp sgt i32 %v59, 33554431
  %v86 = select i1 %v85, i32 2147483647, i32 %v84
  %v87 = icmp slt i32 %v59, -33554432
  %v88 = select i1 %v87, i32 -2147483648, i32 %v86
  call void asm sideeffect "@$5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,b,~{memory}"(i32 %v82, ptr %p15, i32 %v80, i32 %v83, i32 %v88, i1 %v71)
  %v89 = add i32 %v82, 24576
  %v90 = mul i32 %v61, 64
  %v91 = icmp sgt i32 %v61, 33554431
  %v92 = select i1 %v91, i32 2147483647, i32 %v90
  %v93 = icmp slt i32 %v61, -33554432
  %v94 = select i1 %v93, i32 -2147483648, i32 %v92
  call void asm sideeffect "@$5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,b,~{memory}"(i32 %v89, ptr %p16, i32 %v80, i32 %v94, i32 %v83, i1 %v71)
  %v95 = icmp eq i32 %v74, 5
  %v96 = add i32 %v74, 1
  %v97 = select i1 %v95, i32 0, i32 %v96
  %v98 = select i1 %v95, i32 %v76, i32 %v75
  %v99 = sub i32 %v69, %v73
  %v100 = icmp ugt i32 %v99, 1
  %v101 = add i32 %v73, 1
  br i1 %v100, label %loop7, label %done8
done8:
  %v102 = phi i32 [ 0, %produce5 ], [ %v97, %loop7 ]
  %v103 = phi i32 [ 0, %produce5 ], [ %v98, %loop7 ]
  ret void
consume3:
  %v104 = icmp slt i32 0, %v69
  br i1 %v104, label %loop9, label %done10
loop9:
  %v105 = phi i32 [ 0, %consume3 ], [ %v178, %loop9 ]
  %v106.lane0 = phi float [ 0x0000000000000000, %consume3 ], [ %v128, %loop9 ]
  %v106.lane1 = phi float [ 0x0000000000000000, %consume3 ], [ %v129, %loop9 ]
  %v106.lane2 = phi float [ 0x0000000000000000, %consume3 ], [ %v130, %loop9 ]
  %v106.lane3 = phi float [ 0x0000000000000000, %consume3 ], [ %v131, %loop9 ]
  %v106.lane4 = phi float [ 0x0000000000000000, %consume3 ], [ %v132, %loop9 ]
  %v106.lane5 = phi float [ 0x0000000000000000, %consume3 ], [ %v133, %loop9 ]
  %v106.lane6 = phi float [ 0x0000000000000000, %consume3 ], [ %v134, %loop9 ]
  %v106.lane7 = phi float [ 0x0000000000000000, %consume3 ], [ %v135, %loop9 ]
  %v106.lane8 = phi float [ 0x0000000000000000, %consume3 ], [ %v136, %loop9 ]
  %v106.lane9 = phi float [ 0x0000000000000000, %consume3 ], [ %v137, %loop9 ]
  %v106.lane10 = phi float [ 0x0000000000000000, %consume3 ], [ %v138, %loop9 ]
  %v106.lane11 = phi float [ 0x0000000000000000, %consume3 ], [ %v139, %loop9 ]
  %v106.lane12 = phi float [ 0x0000000000000000, %consume3 ], [ %v140, %loop9 ]
  %v106.lane13 = phi float [ 0x0000000000000000, %consume3 ], [ %v141, %loop9 ]
  %v106.lane14 = phi float [ 0x0000000000000000, %consume3 ], [ %v142, %loop9 ]
  %v106.lane15 = phi float [ 0x0000000000000000, %consume3 ], [ %v143, %loop9 ]
  %v106.lane16 = phi float [ 0x0000000000000000, %consume3 ], [ %v144, %loop9 ]
  %v106.lane17 = phi float [ 0x0000000000000000, %consume3 ], [ %v145, %loop9 ]
  %v106.lane18 = phi float [ 0x0000000000000000, %consume3 ], [ %v146, %loop9 ]
  %v106.lane19 = phi float [ 0x0000000000000000, %consume3 ], [ %v147, %loop9 ]
  %v106.lane20 = phi float [ 0x0000000000000000, %consume3 ], [ %v148, %loop9 ]
  %v106.lane21 = phi float [ 0x0000000000000000, %consume3 ], [ %v149, %loop9 ]
  %v106.lane22 = phi float [ 0x0000000000000000, %consume3 ], [ %v150, %loop9 ]
  %v106.lane23 = phi float [ 0x0000000000000000, %consume3 ], [ %v151, %loop9 ]
  %v106.lane24 = phi float [ 0x0000000000000000, %consume3 ], [ %v152, %loop9 ]
  %v106.lane25 = phi float [ 0x0000000000000000, %consume3 ], [ %v153, %loop9 ]
  %v106.lane26 = phi float [ 0x0000000000000000, %consume3 ], [ %v154, %loop9 ]
  %v106.lane27 = phi float [ 0x0000000000000000, %consume3 ], [ %v155, %loop9 ]
  %v106.lane28 = phi float [ 0x0000000000000000, %consume3 ], [ %v156, %loop9 ]
  %v106.lane29 = phi float [ 0x0000000000000000, %consume3 ], [ %v157, %loop9 ]
  %v106.lane30 = phi float [ 0x0000000000000000, %consume3 ], [ %v158, %loop9 ]
  %v106.lane31 = phi float [ 0x0000000000000000, %consume3 ], [ %v159, %loop9 ]
  %v107 = phi i32 [ 0, %consume3 ], [ %v173, %loop9 ]
  %v108 = phi i32 [ 0, %consume3 ], [ %v175, %loop9 ]
  %v109 = mul i32 %v107, 8
  %v110 = add i32 %v3, %v109
  %v111 = add i32 %v110, 49152
  call void asm sideeffect "{\0A.reg .pred done;\0AAGAIN_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra PASSED_${:uid};\0Abra AGAIN_${:uid};\0APASSED_${:uid}:\0A}", "r,r,~{memory}"(i32 %v111, i32 %v108) #1
  %v112 = mul i32 %v107, 4096
  %v115 = and i32 %v114, 0
  %v116 = mul i32 %v115, 64
  %v117 = add i32 %v3, %v112
  %v118 = add i32 %v117, 24576
  %v119 = lshr i32 %v118, 4
  %v120 = zext i32 %v119 to i64
  %v121 = or i64 %v120, 4611686293322072064
  %v122 = lshr i32 %v117, 4
  %v123 = zext i32 %v122 to i64
  %v124 = or i64 %v123, -9223371899415756800
  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"() #1
  %v125 = add i64 %v124, 2
  %v126 = add i64 %v121, 128
  %v127 = call %pack0 asm sideeffect "{ .reg .pred p; setp.ne.b32 p, $36, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31}, $32, $33, p, 1, 1, 0, 1; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31}, $34, $35, 1, 1, 1, 0, 1; }", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,l,l,l,l,r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,~{memory}"(i64 %v124, i64 %v121, i64 %v125, i64 %v126, i32 1, float %v106.lane0, float %v106.lane1, float %v106.lane2, float %v106.lane3, float %v106.lane4, float %v106.lane5, float %v106.lane6, float %v106.lane7, float %v106.lane8, float %v106.lane9, float %v106.lane10, float %v106.lane11, float %v106.lane12, float %v106.lane13, float %v106.lane14, float %v106.lane15, float %v106.lane16, float %v106.lane17, float %v106.lane18, float %v106.lane19, float %v106.lane20, float %v106.lane21, float %v106.lane22, float %v106.lane23, float %v106.lane24, float %v106.lane25, float %v106.lane26, float %v106.lane27, float %v106.lane28, float %v106.lane29, float %v106.lane30, float %v106.lane31) #1
  %v128 = extractvalue %pack0 %v127, 0
  %v129 = extractvalue %pack0 %v127, 1
  %v130 = extractvalue %pack0 %v127, 2
  %v131 = extractvalue %pack0 %v127, 3
  %v132 = extractvalue %pack0 %v127, 4
  %v133 = extractvalue %pack0 %v127, 5
  %v134 = extractvalue %pack0 %v127, 6
  %v135 = extractvalue %pack0 %v127, 7
  %v136 = extractvalue %pack0 %v127, 8
  %v137 = extractvalue %pack0 %v127, 9
  %v138 = extractvalue %pack0 %v127, 10
  %v139 = extractvalue %pack0 %v127, 11
  %v140 = extractvalue %pack0 %v127, 12
  %v141 = extractvalue %pack0 %v127, 13
  %v142 = extractvalue %pack0 %v127, 14
  %v143 = extractvalue %pack0 %v127, 15
  %v144 = extractvalue %pack0 %v127, 16
  %v145 = extractvalue %pack0 %v127, 17
  %v146 = extractvalue %pack0 %v127, 18
  %v147 = extractvalue %pack0 %v127, 19
  %v148 = extractvalue %pack0 %v127, 20
  %v149 = extractvalue %pack0 %v127, 21
  %v150 = extractvalue %pack0 %v127, 22
  %v151 = extractvalue %pack0 %v127, 23
  %v152 = extractvalue %pack0 %v127, 24
  %v153 = extractvalue %pack0 %v127, 25
  %v154 = extractvalue %pack0 %v127, 26
  %v155 = extractvalue %pack0 %v127, 27
  %v156 = extractvalue %pack0 %v127, 28
  %v157 = extractvalue %pack0 %v127, 29
  %v158 = extractvalue %pack0 %v127, 30
  %v159 = extractvalue %pack0 %v127, 31
  call void asm sideeffect "wgmma.commit_group.sync.aligned;", "~{memory}"() #1
  call void asm sideeffect "wgmma.wait_group.sync.aligned 1;", "~{memory}"() #1
  %v161 = icmp sgt i32 %v105, 0
  %v162 = icmp eq i32 %v107, 0
  %v163 = sub i32 %v107, 1
  %v164 = select i1 %v162, i32 5, i32 %v163
  call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() #1
  %v166 = icmp ult i32 %v165, 1
  %v167 = and i1 %v166, %v161
  %v168 = mul i32 %v164, 8
  %v169 = add i32 %v3, %v168
  %v170 = add i32 %v169, 49280
  call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"(i32 %v170, i1 %v167)
  %v171 = icmp eq i32 %v107, 5
  %v172 = add i32 %v107, 1
  %v173 = select i1 %v171, i32 0, i32 %v172
  %v174 = xor i32 %v108, 1
  %v175 = select i1 %v171, i32 %v174, i32 %v108
  %v176 = sub i32 %v69, %v105
  %v177 = icmp ugt i32 %v176, 1
  %v178 = add i32 %v105, 1
  br i1 %v177, label %loop9, label %done10
done10:
  %v179.lane0 = phi float [ 0x0000000000000000, %consume3 ], [ %v128, %loop9 ]
  %v179.lane1 = phi float [ 0x0000000000000000, %consume3 ], [ %v129, %loop9 ]
  %v179.lane2 = phi float [ 0x0000000000000000, %consume3 ], [ %v130, %loop9 ]
  %v179.lane3 = phi float [ 0x0000000000000000, %consume3 ], [ %v131, %loop9 ]
  %v179.lane4 = phi float [ 0x0000000000000000, %consume3 ], [ %v132, %loop9 ]
  %v179.lane5 = phi float [ 0x0000000000000000, %consume3 ], [ %v133, %loop9 ]
  %v179.lane6 = phi float [ 0x0000000000000000, %consume3 ], [ %v134, %loop9 ]
  %v179.lane7 = phi float [ 0x0000000000000000, %consume3 ], [ %v135, %loop9 ]
  %v179.lane8 = phi float [ 0x0000000000000000, %consume3 ], [ %v136, %loop9 ]
  %v179.lane9 = phi float [ 0x0000000000000000, %consume3 ], [ %v137, %loop9 ]
  %v179.lane10 = phi float [ 0x0000000000000000, %consume3 ], [ %v138, %loop9 ]
  %v179.lane11 = phi float [ 0x0000000000000000, %consume3 ], [ %v139, %loop9 ]
  %v179.lane12 = phi float [ 0x0000000000000000, %consume3 ], [ %v140, %loop9 ]
  %v179.lane13 = phi float [ 0x0000000000000000, %consume3 ], [ %v141, %loop9 ]
  %v179.lane14 = phi float [ 0x0000000000000000, %consume3 ], [ %v142, %loop9 ]
  %v179.lane15 = phi float [ 0x0000000000000000, %consume3 ], [ %v143, %loop9 ]
  %v179.lane16 = phi float [ 0x0000000000000000, %consume3 ], [ %v144, %loop9 ]
  %v179.lane17 = phi float [ 0x0000000000000000, %consume3 ], [ %v145, %loop9 ]
  %v179.lane18 = phi float [ 0x0000000000000000, %consume3 ], [ %v146, %loop9 ]
  %v179.lane19 = phi float [ 0x0000000000000000, %consume3 ], [ %v147, %loop9 ]
  %v179.lane20 = phi float [ 0x0000000000000000, %consume3 ], [ %v148, %loop9 ]
  %v179.lane21 = phi float [ 0x0000000000000000, %consume3 ], [ %v149, %loop9 ]
  %v179.lane22 = phi float [ 0x0000000000000000, %consume3 ], [ %v150, %loop9 ]
  %v179.lane23 = phi float [ 0x0000000000000000, %consume3 ], [ %v151, %loop9 ]
  %v179.lane24 = phi float [ 0x0000000000000000, %consume3 ], [ %v152, %loop9 ]
  %v179.lane25 = phi float [ 0x0000000000000000, %consume3 ], [ %v153, %loop9 ]
  %v179.lane26 = phi float [ 0x0000000000000000, %consume3 ], [ %v154, %loop9 ]
  %v179.lane27 = phi float [ 0x0000000000000000, %consume3 ], [ %v155, %loop9 ]
  %v179.lane28 = phi float [ 0x0000000000000000, %consume3 ], [ %v156, %loop9 ]
  %v179.lane29 = phi float [ 0x0000000000000000, %consume3 ], [ %v157, %loop9 ]
  %v179.lane30 = phi float [ 0x0000000000000000, %consume3 ], [ %v158, %loop9 ]
  %v179.lane31 = phi float [ 0x0000000000000000, %consume3 ], [ %v159, %loop9 ]
  %v180 = phi i32 [ 0, %consume3 ], [ %v173, %loop9 ]
  %v181 = phi i32 [ 0, %consume3 ], [ %v175, %loop9 ]
  %v182 = call %pack0 asm sideeffect "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,~{memory}"(float %v179.lane0, float %v179.lane1, float %v179.lane2, float %v179.lane3, float %v179.lane4, float %v179.lane5, float %v179.lane6, float %v179.lane7, float %v179.lane8, float %v179.lane9, float %v179.lane10, float %v179.lane11, float %v179.lane12, float %v179.lane13, float %v179.lane14, float %v179.lane15, float %v179.lane16, float %v179.lane17, float %v179.lane18, float %v179.lane19, float %v179.lane20, float %v179.lane21, float %v179.lane22, float %v179.lane23, float %v179.lane24, float %v179.lane25, float %v179.lane26, float %v179.lane27, float %v179.lane28, float %v179.lane29, float %v179.lane30, float %v179.lane31) #1
  %v183 = extractvalue %pack0 %v182, 0
  %v184 = extractvalue %pack0 %v182, 1
  %v185 = extractvalue %pack0 %v182, 2
  %v186 = extractvalue %pack0 %v182, 3
  %v187 = extractvalue %pack0 %v182, 4
  %v188 = extractvalue %pack0 %v182, 5
  %v189 = extractvalue %pack0 %v182, 6
  %v190 = extractvalue %pack0 %v182, 7
  %v191 = extractvalue %pack0 %v182, 8
  %v192 = extractvalue %pack0 %v182, 9
  %v193 = extractvalue %pack0 %v182, 10
  %v194 = extractvalue %pack0 %v182, 11
  %v195 = extractvalue %pack0 %v182, 12
  %v196 = extractvalue %pack0 %v182, 13
  %v197 = extractvalue %pack0 %v182, 14
  %v198 = extractvalue %pack0 %v182, 15
  %v199 = extractvalue %pack0 %v182, 16
  %v200 = extractvalue %pack0 %v182, 17
  %v201 = extractvalue %pack0 %v182, 18
  %v202 = extractvalue %pack0 %v182, 19
  %v203 = extractvalue %pack0 %v182, 20
  %v204 = extractvalue %pack0 %v182, 21
  %v205 = extractvalue %pack0 %v182, 22
  %v206 = extractvalue %pack0 %v182, 23
  %v207 = extractvalue %pack0 %v182, 24
  %v208 = extractvalue %pack0 %v182, 25
  %v209 = extractvalue %pack0 %v182, 26
  %v210 = extractvalue %pack0 %v182, 27
  %v211 = extractvalue %pack0 %v182, 28
  %v212 = extractvalue %pack0 %v182, 29
  %v213 = extractvalue %pack0 %v182, 30
  %v214 = extractvalue %pack0 %v182, 31
  %v216 = icmp slt i32 0, %v69
  %v217 = icmp eq i32 %v180, 0
  %v218 = sub i32 %v180, 1
  %v219 = select i1 %v217, i32 5, i32 %v218
  call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() #1
  %v220 = icmp ult i32 %v165, 1
  %v221 = and i1 %v220, %v216
  %v222 = mul i32 %v219, 8
  %v223 = add i32 %v3, %v222
  %v224 = add i32 %v223, 49280
  call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"(i32 %v224, i1 %v221)
  %v225.0 = insertelement <2 x float> poison, float %v183, i32 0
  %v225 = insertelement <2 x float> %v225.0, float %v184, i32 1
  %v226.0 = insertelement <2 x float> poison, float %v185, i32 0
  %v226 = insertelement <2 x float> %v226.0, float %v186, i32 1
  %v227.0 = insertelement <2 x float> poison, float %v187, i32 0
  %v227 = insertelement <2 x float> %v227.0, float %v188, i32 1
  %v228.0 = insertelement <2 x float> poison, float %v189, i32 0
  %v228 = insertelement <2 x float> %v228.0, float %v190, i32 1
  %v229.0 = insertelement <2 x float> poison, float %v191, i32 0
  %v229 = insertelement <2 x float> %v229.0, float %v192, i32 1
  %v230.0 = insertelement <2 x float> poison, float %v193, i32 0
  %v230 = insertelement <2 x float> %v230.0, float %v194, i32 1
  %v231.0 = insertelement <2 x float> poison, float %v195, i32 0
  %v231 = insertelement <2 x float> %v231.0, float %v196, i32 1
  %v232.0 = insertelement <2 x float> poison, float %v197, i32 0
  %v232 = insertelement <2 x float> %v232.0, float %v198, i32 1
  %v233.0 = insertelement <2 x float> poison, float %v199, i32 0
  %v233 = insertelement <2 x float> %v233.0, float %v200, i32 1
  %v234.0 = insertelement <2 x float> poison, float %v201, i32 0
  %v234 = insertelement <2 x float> %v234.0, float %v202, i32 1
  %v235.0 = insertelement <2 x float> poison, float %v203, i32 0
  %v235 = insertelement <2 x float> %v235.0, float %v204, i32 1
  %v236.0 = insertelement <2 x float> poison, float %v205, i32 0
  %v236 = insertelement <2 x float> %v236.0, float %v206, i32 1
  %v237.0 = insertelement <2 x float> poison, float %v207, i32 0
  %v237 = insertelement <2 x float> %v237.0, float %v208, i32 1
  %v238.0 = insertelement <2 x float> poison, float %v209, i32 0
  %v238 = insertelement <2 x float> %v238.0, float %v210, i32 1
  %v239.0 = insertelement <2 x float> poison, float %v211, i32 0
  %v239 = insertelement <2 x float> %v239.0, float %v212, i32 1
  %v240.0 = insertelement <2 x float> poison, float %v213, i32 0
  %v240 = insertelement <2 x float> %v240.0, float %v214, i32 1
  %v241 = fptrunc <2 x float> %v225 to <2 x half>
  %v242 = fptrunc <2 x float> %v226 to <2 x half>
  %v243 = fptrunc <2 x float> %v227 to <2 x half>
  %v244 = fptrunc <2 x float> %v228 to <2 x half>
  %v245 = fptrunc <2 x float> %v229 to <2 x half>
  %v246 = fptrunc <2 x float> %v230 to <2 x half>
  %v247 = fptrunc <2 x float> %v231 to <2 x half>
  %v248 = fptrunc <2 x float> %v232 to <2 x half>
  %v249 = fptrunc <2 x float> %v233 to <2 x half>
  %v250 = fptrunc <2 x float> %v234 to <2 x half>
  %v251 = fptrunc <2 x float> %v235 to <2 x half>
  %v252 = fptrunc <2 x float> %v236 to <2 x half>
  %v253 = fptrunc <2 x float> %v237 to <2 x half>
  %v254 = fptrunc <2 x float> %v238 to <2 x half>
  %v255 = fptrunc <2 x float> %v239 to <2 x half>
  %v256 = fptrunc <2 x float> %v240 to <2 x half>
  %v270 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v269
  %v271 = getelementptr i8, ptr addrspace(3) %v270, i64 49408
  %v276 = ptrtoint ptr addrspace(3) %v271 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v276, <2 x half> %v241, <2 x half> %v242, <2 x half> %v243, <2 x half> %v244) #1
  %v277 = xor i32 %v269, 32
  %v278 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v277
  %v279 = getelementptr i8, ptr addrspace(3) %v278, i64 49664
  %v284 = ptrtoint ptr addrspace(3) %v279 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v284, <2 x half> %v245, <2 x half> %v246, <2 x half> %v247, <2 x half> %v248) #1
  %v285 = xor i32 %v269, 64
  %v286 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v285
  %v287 = getelementptr i8, ptr addrspace(3) %v286, i64 49536
  %v292 = ptrtoint ptr addrspace(3) %v287 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v292, <2 x half> %v249, <2 x half> %v250, <2 x half> %v251, <2 x half> %v252) #1
  %v293 = xor i32 %v269, 96
  %v294 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v293
  %v295 = getelementptr i8, ptr addrspace(3) %v294, i64 49792
  %v300 = ptrtoint ptr addrspace(3) %v295 to i32
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v300, <2 x half> %v253, <2 x half> %v254, <2 x half> %v255, <2 x half> %v256) #1
  call void asm sideeffect "bar.sync $0, $1;", "r,r,~{memory}"(i32 1, i32 128) #1
  %v315 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v314
  %v316 = getelementptr i8, ptr addrspace(3) %v315, i64 49408
  %v317 = load <8 x half>, ptr addrspace(3) %v316, align 16
  %v318 = getelementptr i8, ptr addrspace(3) %v315, i64 51456
  %v319 = load <8 x half>, ptr addrspace(3) %v318, align 16
  %v320 = getelementptr i8, ptr addrspace(3) %v315, i64 53504
  %v321 = load <8 x half>, ptr addrspace(3) %v320, align 16
  %v322 = getelementptr i8, ptr addrspace(3) %v315, i64 55552
  %v323 = load <8 x half>, ptr addrspace(3) %v322, align 16
  %v325 = sext i32 %v59 to i64
  %v326 = mul i64 %v325, 64
  %v327 = sext i32 %p11 to i64
  %v328 = sub i64 0, %v326
  %v329 = call i64 @llvm.smax.i64(i64 %v328, i64 0)
  %v330 = call i64 @llvm.smin.i64(i64 %v329, i64 64)
  %v331 = trunc i64 %v330 to i32
  %v332 = sub i64 %v327, %v326
  %v333 = call i64 @llvm.smax.i64(i64 %v332, i64 0)
  %v334 = call i64 @llvm.smin.i64(i64 %v333, i64 64)
  %v335 = trunc i64 %v334 to i32
  %v337 = icmp slt i32 %v336, %v335
  %v338 = icmp sge i32 %v336, %v331
  %v339 = and i1 %v337, %v338
  %v340 = sext i32 %v61 to i64
  %v341 = mul i64 %v340, 64
  %v342 = sext i32 %p12 to i64
  %v343 = sub i64 0, %v341
  %v344 = call i64 @llvm.smax.i64(i64 %v343, i64 0)
  %v345 = call i64 @llvm.smin.i64(i64 %v344, i64 64)
  %v346 = trunc i64 %v345 to i32
  %v347 = sub i64 %v342, %v341
  %v348 = call i64 @llvm.smax.i64(i64 %v347, i64 0)
  %v349 = call i64 @llvm.smin.i64(i64 %v348, i64 64)
  %v350 = trunc i64 %v349 to i32
  %v352 = icmp slt i32 %v351, %v350
  %v353 = icmp sge i32 %v351, %v346
  %v354 = and i1 %v352, %v353
  %v355 = and i1 %v339, %v354
  %v356 = sext i32 %p13 to i64
  %v357 = mul i64 %v356, 2
  %v358 = mul i64 %v326, %v357
  %v359 = mul i64 %v341, 2
  %v360 = add i64 %v358, %v359
  %v361 = getelementptr i8, ptr addrspace(1) %p10, i64 %v360
  %v362 = sext i32 %v336 to i64
  %v363 = mul i64 %v362, %v357
  %v364 = mul i32 %v351, 2
  %v365 = sext i32 %v364 to i64
  %v366 = add i64 %v363, %v365
  %v367 = getelementptr i8, ptr addrspace(1) %v361, i64 %v366
  %v368 = bitcast <8 x half> %v317 to <4 x i32>
  %v369 = extractelement <4 x i32> %v368, i32 0
  %v370 = extractelement <4 x i32> %v368, i32 1
  %v371 = extractelement <4 x i32> %v368, i32 2
  %v372 = extractelement <4 x i32> %v368, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v367, i1 %v355, i32 %v369, i32 %v370, i32 %v371, i32 %v372)
  %v373 = sub i32 %v335, 16
  %v374 = icmp slt i32 %v336, %v373
  %v375 = sub i32 %v331, 16
  %v376 = icmp sge i32 %v336, %v375
  %v377 = and i1 %v374, %v376
  %v378 = and i1 %v377, %v354
  %v379 = mul i64 %v357, 16
  %v380 = getelementptr i8, ptr addrspace(1) %v367, i64 %v379
  %v381 = bitcast <8 x half> %v319 to <4 x i32>
  %v382 = extractelement <4 x i32> %v381, i32 0
  %v383 = extractelement <4 x i32> %v381, i32 1
  %v384 = extractelement <4 x i32> %v381, i32 2
  %v385 = extractelement <4 x i32> %v381, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v380, i1 %v378, i32 %v382, i32 %v383, i32 %v384, i32 %v385)
  %v386 = sub i32 %v335, 32
  %v387 = icmp slt i32 %v336, %v386
  %v388 = sub i32 %v331, 32
  %v389 = icmp sge i32 %v336, %v388
  %v390 = and i1 %v387, %v389
  %v391 = and i1 %v390, %v354
  %v392 = mul i64 %v357, 32
  %v393 = getelementptr i8, ptr addrspace(1) %v367, i64 %v392
  %v394 = bitcast <8 x half> %v321 to <4 x i32>
  %v395 = extractelement <4 x i32> %v394, i32 0
  %v396 = extractelement <4 x i32> %v394, i32 1
  %v397 = extractelement <4 x i32> %v394, i32 2
  %v398 = extractelement <4 x i32> %v394, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v393, i1 %v391, i32 %v395, i32 %v396, i32 %v397, i32 %v398)
  %v399 = sub i32 %v335, 48
  %v400 = icmp slt i32 %v336, %v399
  %v401 = sub i32 %v331, 48
  %v402 = icmp sge i32 %v336, %v401
  %v403 = and i1 %v400, %v402
  %v404 = and i1 %v403, %v354
  %v405 = mul i64 %v357, 48
  %v406 = getelementptr i8, ptr addrspace(1) %v367, i64 %v405
  %v407 = bitcast <8 x half> %v323 to <4 x i32>
  %v408 = extractelement <4 x i32> %v407, i32 0
  %v409 = extractelement <4 x i32> %v407, i32 1
  %v410 = extractelement <4 x i32> %v407, i32 2
  %v411 = extractelement <4 x i32> %v407, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v406, i1 %v404, i32 %v408, i32 %v409, i32 %v410, i32 %v411)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="160" }
attributes #1 = { convergent nounwind }
