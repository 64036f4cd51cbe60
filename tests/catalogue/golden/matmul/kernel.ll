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
  %v27 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v54 = icmp eq i32 %v1, 128
  %v88 = lshr i32 %v1, 7
  %v89 = call i32 asm "shfl.sync.idx.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v88, i32 0) #1
  %v140 = and i32 %v1, 31
  %v233 = and i32 %v1, 16
  %v234 = and i32 %v1, 7
  %v235 = shl i32 %v234, 4
  %v236 = xor i32 %v233, %v235
  %v237 = shl i32 %v233, 5
  %v238 = xor i32 %v236, %v237
  %v239 = and i32 %v1, 96
  %v240 = shl i32 %v239, 6
  %v241 = xor i32 %v238, %v240
  %v242 = and i32 %v1, 8
  %v243 = shl i32 %v242, 7
  %v244 = xor i32 %v241, %v243
  %v272 = and i32 %v1, 56
  %v273 = shl i32 %v272, 1
  %v274 = and i32 %v1, 71
  %v275 = shl i32 %v274, 4
  %v276 = xor i32 %v273, %v275
  %v277 = and i32 %v1, 4
  %v278 = shl i32 %v277, 5
  %v279 = xor i32 %v276, %v278
  %v280 = and i32 %v1, 2
  %v281 = shl i32 %v280, 7
  %v282 = xor i32 %v279, %v281
  %v283 = and i32 %v1, 1
  %v284 = shl i32 %v283, 9
  %v285 = xor i32 %v282, %v284
  %v307 = lshr i32 %v1, 3
  %v322 = mul i32 %v234, 8
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
  %v16 = lshr i32 %p1, 6
  %v17 = and i32 %p1, 63
  %v18 = icmp ne i32 %v17, 0
  %v19 = zext i1 %v18 to i32
  %v20 = add i32 %v16, %v19
  %v21 = lshr i32 %p7, 6
  %v22 = and i32 %p7, 63
  %v23 = icmp ne i32 %v22, 0
  %v24 = zext i1 %v23 to i32
  %v25 = add i32 %v21, %v24
  %v26 = mul i32 %v25, 4
  %v28 = call i32 @llvm.umax.i32(i32 %v26, i32 4)
  %v29 = udiv i32 %v27, %v28
  %v30 = mul i32 %v29, %v28
  %v31 = sub i32 %v27, %v30
  %v32 = mul i32 %v29, 4
  %v33 = sub i32 %v20, %v32
  %v34 = call i32 @llvm.smin.i32(i32 %v33, i32 4)
  %v35 = call i32 @llvm.umax.i32(i32 %v34, i32 1)
  %v36 = sdiv i32 %v31, %v35
  %v37 = mul i32 %v36, %v35
  %v38 = sub i32 %v31, %v37
  %v39 = icmp ne i32 %v38, 0
  %v40 = xor i32 %v38, %v35
  %v41 = icmp slt i32 %v40, 0
  %v42 = and i1 %v39, %v41
  %v43 = sext i1 %v42 to i32
  %v44 = add i32 %v36, %v43
  %v45 = select i1 %v42, i32 %v35, i32 0
  %v46 = add i32 %v38, %v45
  %v47 = add i32 %v32, %v46
  %v48 = lshr i32 %p2, 5
  %v49 = and i32 %p2, 31
  %v50 = icmp ne i32 %v49, 0
  %v51 = zext i1 %v50 to i32
  %v52 = add i32 %v48, %v51
  %v53 = icmp ult i32 %v1, 128
  br i1 %v53, label %consume3, label %others4
others4:
  br i1 %v54, label %produce5, label %leave6
leave6:
  ret void
produce5:
  %v55 = icmp slt i32 0, %v52
  br i1 %v55, label %loop7, label %done8
loop7:
  %v56 = phi i32 [ 0, %produce5 ], [ %v76, %loop7 ]
  %v57 = phi i32 [ 0, %produce5 ], [ %v72, %loop7 ]
  %v58 = phi i32 [ 0, %produce5 ], [ %v73, %loop7 ]
  %v59 = xor i32 %v58, 1
  %v60 = mul i32 %v57, 8
  %v61 = add i32 %v3, %v60
  %v62 = add i32 %v61, 49280
  call void asm sideeffect "{\0A.reg .pred done;\0AAGAIN_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra PASSED_${:uid};\0Abra AGAIN_${:uid};\0APASSED_${:uid}:\0A}", "r,r,~{memory}"(i32 %v62, i32 %v59) #1
  %v63 = add i32 %v61, 49152
  call void asm sideeffect "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,b,~{memory}"(i32 %v63, i32 8192, i1 %v54)
  %v64 = mul i32 %v57, 4096
  %v65 = add i32 %v3, %v64
  %v66 = mul i32 %v56, 32
  %v67 = mul i32 %v47, 64
  call void asm sideeffect "@$5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,b,~{memory}"(i32 %v65, ptr %p15, i32 %v63, i32 %v66, i32 %v67, i1 %v54)
  %v68 = add i32 %v65, 24576
  %v69 = mul i32 %v44, 64
  call void asm sideeffect "@$5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4}], [$2];", "r,l,r,r,r,b,~{memory}"(i32 %v68, ptr %p16, i32 %v63, i32 %v69, i32 %v66, i1 %v54)
  %v70 = icmp eq i32 %v57, 5
  %v71 = add i32 %v57, 1
  %v72 = select i1 %v70, i32 0, i32 %v71
  %v73 = select i1 %v70, i32 %v59, i32 %v58
  %v74 = sub i32 %v52, %v56
  %v75 = icmp ugt i32 %v74, 1
  %v76 = add i32 %v56, 1
  br i1 %v75, label %loop7, label %done8
done8:
  %v77 = phi i32 [ 0, %produce5 ], [ %v72, %loop7 ]
  %v78 = phi i32 [ 0, %produce5 ], [ %v73, %loop7 ]
  ret void
consume3:
  %v79 = icmp slt i32 0, %v52
  br i1 %v79, label %loop9, label %done10
loop9:
  %v80 = phi i32 [ 0, %consume3 ], [ %v153, %loop9 ]
  %v81.lane0 = phi float [ 0x0000000000000000, %consume3 ], [ %v103, %loop9 ]
  %v81.lane1 = phi float [ 0x0000000000000000, %consume3 ], [ %v104, %loop9 ]
  %v81.lane2 = phi float [ 0x0000000000000000, %consume3 ], [ %v105, %loop9 ]
  %v81.lane3 = phi float [ 0x0000000000000000, %consume3 ], [ %v106, %loop9 ]
  %v81.lane4 = phi float [ 0x0000000000000000, %consume3 ], [ %v107, %loop9 ]
  %v81.lane5 = phi float [ 0x0000000000000000, %consume3 ], [ %v108, %loop9 ]
  %v81.lane6 = phi float [ 0x0000000000000000, %consume3 ], [ %v109, %loop9 ]
  %v81.lane7 = phi float [ 0x0000000000000000, %consume3 ], [ %v110, %loop9 ]
  %v81.lane8 = phi float [ 0x0000000000000000, %consume3 ], [ %v111, %loop9 ]
  %v81.lane9 = phi float [ 0x0000000000000000, %consume3 ], [ %v112, %loop9 ]
  %v81.lane10 = phi float [ 0x0000000000000000, %consume3 ], [ %v113, %loop9 ]
  %v81.lane11 = phi float [ 0x0000000000000000, %consume3 ], [ %v114, %loop9 ]
  %v81.lane12 = phi float [ 0x0000000000000000, %consume3 ], [ %v115, %loop9 ]
  %v81.lane13 = phi float [ 0x0000000000000000, %consume3 ], [ %v116, %loop9 ]
  %v81.lane14 = phi float [ 0x0000000000000000, %consume3 ], [ %v117, %loop9 ]
  %v81.lane15 = phi float [ 0x0000000000000000, %consume3 ], [ %v118, %loop9 ]
  %v81.lane16 = phi float [ 0x0000000000000000, %consume3 ], [ %v119, %loop9 ]
  %v81.lane17 = phi float [ 0x0000000000000000, %consume3 ], [ %v120, %loop9 ]
  %v81.lane18 = phi float [ 0x0000000000000000, %consume3 ], [ %v121, %loop9 ]
  %v81.lane19 = phi float [ 0x0000000000000000, %consume3 ], [ %v122, %loop9 ]
  %v81.lane20 = phi float [ 0x0000000000000000, %consume3 ], [ %v123, %loop9 ]
  %v81.lane21 = phi float [ 0x0000000000000000, %consume3 ], [ %v124, %loop9 ]
  %v81.lane22 = phi float [ 0x0000000000000000, %consume3 ], [ %v125, %loop9 ]
  %v81.lane23 = phi float [ 0x0000000000000000, %consume3 ], [ %v126, %loop9 ]
  %v81.lane24 = phi float [ 0x0000000000000000, %consume3 ], [ %v127, %loop9 ]
  %v81.lane25 = phi float [ 0x0000000000000000, %consume3 ], [ %v128, %loop9 ]
  %v81.lane26 = phi float [ 0x0000000000000000, %consume3 ], [ %v129, %loop9 ]
  %v81.lane27 = phi float [ 0x0000000000000000, %consume3 ], [ %v130, %loop9 ]
  %v81.lane28 = phi float [ 0x0000000000000000, %consume3 ], [ %v131, %loop9 ]
  %v81.lane29 = phi float [ 0x0000000000000000, %consume3 ], [ %v132, %loop9 ]
  %v81.lane30 = phi float [ 0x0000000000000000, %consume3 ], [ %v133, %loop9 ]
  %v81.lane31 = phi float [ 0x0000000000000000, %consume3 ], [ %v134, %loop9 ]
  %v82 = phi i32 [ 0, %consume3 ], [ %v148, %loop9 ]
  %v83 = phi i32 [ 0, %consume3 ], [ %v150, %loop9 ]
  %v84 = mul i32 %v82, 8
  %v85 = add i32 %v3, %v84
  %v86 = add i32 %v85, 49152
  call void asm sideeffect "{\0A.reg .pred done;\0AAGAIN_${:uid}:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra PASSED_${:uid};\0Abra AGAIN_${:uid};\0APASSED_${:uid}:\0A}", "r,r,~{memory}"(i32 %v86, i32 %v83) #1
  %v87 = mul i32 %v82, 4096
  %v90 = and i32 %v89, 0
  %v91 = mul i32 %v90, 64
  %v92 = add i32 %v3, %v87
  %v93 = add i32 %v92, 24576
  %v94 = lshr i32 %v93, 4
  %v95 = zext i32 %v94 to i64
  %v96 = or i64 %v95, 4611686293322072064
  %v97 = lshr i32 %v92, 4
  %v98 = zext i32 %v97 to i64
  %v99 = or i64 %v98, -9223371899415756800
  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"() #1
  %v100 = add i64 %v99, 2
  %v101 = add i64 %v96, 128
  %v102 = call %pack0 asm sideeffect "{ .reg .pred p; setp.ne.b32 p, $36, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31}, $32, $33, p, 1, 1, 0, 1; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31}, $34, $35, 1, 1, 1, 0, 1; }", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,l,l,l,l,r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,~{memory}"(i64 %v99, i64 %v96, i64 %v100, i64 %v101, i32 1, float %v81.lane0, float %v81.lane1, float %v81.lane2, float %v81.lane3, float %v81.lane4, float %v81.lane5, float %v81.lane6, float %v81.lane7, float %v81.lane8, float %v81.lane9, float %v81.lane10, float %v81.lane11, float %v81.lane12, float %v81.lane13, float %v81.lane14, float %v81.lane15, float %v81.lane16, float %v81.lane17, float %v81.lane18, float %v81.lane19, float %v81.lane20, float %v81.lane21, float %v81.lane22, float %v81.lane23, float %v81.lane24, float %v81.lane25, float %v81.lane26, float %v81.lane27, float %v81.lane28, float %v81.lane29, float %v81.lane30, float %v81.lane31) #1
  %v103 = extractvalue %pack0 %v102, 0
  %v104 = extractvalue %pack0 %v102, 1
  %v105 = extractvalue %pack0 %v102, 2
  %v106 = extractvalue %pack0 %v102, 3
  %v107 = extractvalue %pack0 %v102, 4
  %v108 = extractvalue %pack0 %v102, 5
  %v109 = extractvalue %pack0 %v102, 6
  %v110 = extractvalue %pack0 %v102, 7
  %v111 = extractvalue %pack0 %v102, 8
  %v112 = extractvalue %pack0 %v102, 9
  %v113 = extractvalue %pack0 %v102, 10
  %v114 = extractvalue %pack0 %v102, 11
  %v115 = extractvalue %pack0 %v102, 12
  %v116 = extractvalue %pack0 %v102, 13
  %v117 = extractvalue %pack0 %v102, 14
  %v118 = extractvalue %pack0 %v102, 15
  %v119 = extractvalue %pack0 %v102, 16
  %v120 = extractvalue %pack0 %v102, 17
  %v121 = extractvalue %pack0 %v102, 18
  %v122 = extractvalue %pack0 %v102, 19
  %v123 = extractvalue %pack0 %v102, 20
  %v124 = extractvalue %pack0 %v102, 21
  %v125 = extractvalue %pack0 %v102, 22
  %v126 = extractvalue %pack0 %v102, 23
  %v127 = extractvalue %pack0 %v102, 24
  %v128 = extractvalue %pack0 %v102, 25
  %v129 = extractvalue %pack0 %v102, 26
  %v130 = extractvalue %pack0 %v102, 27
  %v131 = extractvalue %pack0 %v102, 28
  %v132 = extractvalue %pack0 %v102, 29
  %v133 = extractvalue %pack0 %v102, 30
  %v134 = extractvalue %pack0 %v102, 31
  call void asm sideeffect "wgmma.commit_group.sync.aligned;", "~{memory}"() #1
  call void asm sideeffect "wgmma.wait_group.sync.aligned 1;", "~{memory}"() #1
  %v136 = icmp sgt i32 %v80, 0
  %v137 = icmp eq i32 %v82, 0
  %v138 = sub i32 %v82, 1
  %v139 = select i1 %v137, i32 5, i32 %v138
  call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() #1
  %v141 = icmp ult i32 %v140, 1
  %v142 = and i1 %v141, %v136
  %v143 = mul i32 %v139, 8
  %v144 = add i32 %v3, %v143
  %v145 = add i32 %v144, 49280
  call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"(i32 %v145, i1 %v142)
  %v146 = icmp eq i32 %v82, 5
  %v147 = add i32 %v82, 1
  %v148 = select i1 %v146, i32 0, i32 %v147
  %v149 = xor i32 %v83, 1
  %v150 = select i1 %v146, i32 %v149, i32 %v83
  %v151 = sub i32 %v52, %v80
  %v152 = icmp ugt i32 %v151, 1
  %v153 = add i32 %v80, 1
  br i1 %v152, label %loop9, label %done10
done10:
  %v154.lane0 = phi float [ 0x0000000000000000, %consume3 ], [ %v103, %loop9 ]
  %v154.lane1 = phi float [ 0x0000000000000000, %consume3 ], [ %v104, %loop9 ]
  %v154.lane2 = phi float [ 0x0000000000000000, %consume3 ], [ %v105, %loop9 ]
  %v154.lane3 = phi float [ 0x0000000000000000, %consume3 ], [ %v106, %loop9 ]
  %v154.lane4 = phi float [ 0x0000000000000000, %consume3 ], [ %v107, %loop9 ]
  %v154.lane5 = phi float [ 0x0000000000000000, %consume3 ], [ %v108, %loop9 ]
  %v154.lane6 = phi float [ 0x0000000000000000, %consume3 ], [ %v109, %loop9 ]
  %v154.lane7 = phi float [ 0x0000000000000000, %consume3 ], [ %v110, %loop9 ]
  %v154.lane8 = phi float [ 0x0000000000000000, %consume3 ], [ %v111, %loop9 ]
  %v154.lane9 = phi float [ 0x0000000000000000, %consume3 ], [ %v112, %loop9 ]
  %v154.lane10 = phi float [ 0x0000000000000000, %consume3 ], [ %v113, %loop9 ]
  %v154.lane11 = phi float [ 0x0000000000000000, %consume3 ], [ %v114, %loop9 ]
  %v154.lane12 = phi float [ 0x0000000000000000, %consume3 ], [ %v115, %loop9 ]
  %v154.lane13 = phi float [ 0x0000000000000000, %consume3 ], [ %v116, %loop9 ]
  %v154.lane14 = phi float [ 0x0000000000000000, %consume3 ], [ %v117, %loop9 ]
  %v154.lane15 = phi float [ 0x0000000000000000, %consume3 ], [ %v118, %loop9 ]
  %v154.lane16 = phi float [ 0x0000000000000000, %consume3 ], [ %v119, %loop9 ]
  %v154.lane17 = phi float [ 0x0000000000000000, %consume3 ], [ %v120, %loop9 ]
  %v154.lane18 = phi float [ 0x0000000000000000, %consume3 ], [ %v121, %loop9 ]
  %v154.lane19 = phi float [ 0x0000000000000000, %consume3 ], [ %v122, %loop9 ]
  %v154.lane20 = phi float [ 0x0000000000000000, %consume3 ], [ %v123, %loop9 ]
  %v154.lane21 = phi float [ 0x0000000000000000, %consume3 ], [ %v124, %loop9 ]
  %v154.lane22 = phi float [ 0x0000000000000000, %consume3 ], [ %v125, %loop9 ]
  %v154.lane23 = phi float [ 0x0000000000000000, %consume3 ], [ %v126, %loop9 ]
  %v154.lane24 = phi float [ 0x0000000000000000, %consume3 ], [ %v127, %loop9 ]
  %v154.lane25 = phi float [ 0x0000000000000000, %consume3 ], [ %v128, %loop9 ]
  %v154.lane26 = phi float [ 0x0000000000000000, %consume3 ], [ %v129, %loop9 ]
  %v154.lane27 = phi float [ 0x0000000000000000, %consume3 ], [ %v130, %loop9 ]
  %v154.lane28 = phi float [ 0x0000000000000000, %consume3 ], [ %v131, %loop9 ]
  %v154.lane29 = phi float [ 0x0000000000000000, %consume3 ], [ %v132, %loop9 ]
  %v154.lane30 = phi float [ 0x0000000000000000, %consume3 ], [ %v133, %loop9 ]
  %v154.lane31 = phi float [ 0x0000000000000000, %consume3 ], [ %v134, %loop9 ]
  %v155 = phi i32 [ 0, %consume3 ], [ %v148, %loop9 ]
  %v156 = phi i32 [ 0, %consume3 ], [ %v150, %loop9 ]
  %v157 = call %pack0 asm sideeffect "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,~{memory}"(float %v154.lane0, float %v154.lane1, float %v154.lane2, float %v154.lane3, float %v154.lane4, float %v154.lane5, float %v154.lane6, float %v154.lane7, float %v154.lane8, float %v154.lane9, float %v154.lane10, float %v154.lane11, float %v154.lane12, float %v154.lane13, float %v154.lane14, float %v154.lane15, float %v154.lane16, float %v154.lane17, float %v154.lane18, float %v154.lane19, float %v154.lane20, float %v154.lane21, float %v154.lane22, float %v154.lane23, float %v154.lane24, float %v154.lane25, float %v154.lane26, float %v154.lane27, float %v154.lane28, float %v154.lane29, float %v154.lane30, float %v154.lane31) #1
  %v158 = extractvalue %pack0 %v157, 0
  %v159 = extractvalue %pack0 %v157, 1
  %v160 = extractvalue %pack0 %v157, 2
  %v161 = extractvalue %pack0 %v157, 3
  %v162 = extractvalue %pack0 %v157, 4
  %v163 = extractvalue %pack0 %v157, 5
  %v164 = extractvalue %pack0 %v157, 6
  %v165 = extractvalue %pack0 %v157, 7
  %v166 = extractvalue %pack0 %v157, 8
  %v167 = extractvalue %pack0 %v157, 9
  %v168 = extractvalue %pack0 %v157, 10
  %v169 = extractvalue %pack0 %v157, 11
  %v170 = extractvalue %pack0 %v157, 12
  %v171 = extractvalue %pack0 %v157, 13
  %v172 = extractvalue %pack0 %v157, 14
  %v173 = extractvalue %pack0 %v157, 15
  %v174 = extractvalue %pack0 %v157, 16
  %v175 = extractvalue %pack0 %v157, 17
  %v176 = extractvalue %pack0 %v157, 18
  %v177 = extractvalue %pack0 %v157, 19
  %v178 = extractvalue %pack0 %v157, 20
  %v179 = extractvalue %pack0 %v157, 21
  %v180 = extractvalue %pack0 %v157, 22
  %v181 = extractvalue %pack0 %v157, 23
  %v182 = extractvalue %pack0 %v157, 24
  %v183 = extractvalue %pack0 %v157, 25
  %v184 = extractvalue %pack0 %v157, 26
  %v185 = extractvalue %pack0 %v157, 27
  %v186 = extractvalue %pack0 %v157, 28
  %v187 = extractvalue %pack0 %v157, 29
  %v188 = extractvalue %pack0 %v157, 30
  %v189 = extractvalue %pack0 %v157, 31
  %v191 = icmp slt i32 0, %v52
  %v192 = icmp eq i32 %v155, 0
  %v193 = sub i32 %v155, 1
  %v194 = select i1 %v192, i32 5, i32 %v193
  call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() #1
  %v195 = icmp ult i32 %v140, 1
  %v196 = and i1 %v195, %v191
  %v197 = mul i32 %v194, 8
  %v198 = add i32 %v3, %v197
  %v199 = add i32 %v198, 49280
  call void asm sideeffect "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"(i32 %v199, i1 %v196)
  %v200.0 = insertelement <2 x float> poison, float %v158, i32 0
  %v200 = insertelement <2 x float> %v200.0, float %v159, i32 1
  %v201.0 = insertelement <2 x float> poison, float %v160, i32 0
  %v201 = insertelement <2 x float> %v201.0, float %v161, i32 1
  %v202.0 = insertelement <2 x float> poison, float %v162, i32 0
  %v202 = insertelement <2 x float> %v202.0, float %v163, i32 1
  %v203.0 = insertelement <2 x float> poison, float %v164, i32 0
  %v203 = insertelement <2 x float> %v203.0, float %v165, i32 1
  %v204.0 = insertelement <2 x float> poison, float %v166, i32 0
  %v204 = insertelement <2 x float> %v204.0, float %v167, i32 1
  %v205.0 = insertelement <2 x float> poison, float %v168, i32 0
  %v205 = insertelement <2 x float> %v205.0, float %v169, i32 1
  %v206.0 = insertelement <2 x float> poison, float %v170, i32 0
  %v206 = insertelement <2 x float> %v206.0, float %v171, i32 1
  %v207.0 = insertelement <2 x float> poison, float %v172, i32 0
  %v207 = insertelement <2 x float> %v207.0, float %v173, i32 1
  %v208.0 = insertelement <2 x float> poison, float %v174, i32 0
  %v208 = insertelement <2 x float> %v208.0, float %v175, i32 1
  %v209.0 = insertelement <2 x float> poison, float %v176, i32 0
  %v209 = insertelement <2 x float> %v209.0, float %v177, i32 1
  %v210.0 = insertelement <2 x float> poison, float %v178, i32 0
  %v210 = insertelement <2 x float> %v210.0, float %v179, i32 1
  %v211.0 = insertelement <2 x float> poison, float %v180, i32 0
  %v211 = insertelement <2 x float> %v211.0, float %v181, i32 1
  %v212.0 = insertelement <2 x float> poison, float %v182, i32 0
  %v212 = insertelement <2 x float> %v212.0, float %v183, i32 1
  %v213.0 = insertelement <2 x float> poison, float %v184, i32 0
  %v213 = insertelement <2 x float> %v213.0, float %v185, i32 1
  %v214.0 = insertelement <2 x float> poison, float %v186, i32 0
  %v214 = insertelement <2 x float> %v214.0, float %v187, i32 1
  %v215.0 = insertelement <2 x float> poison, float %v188, i32 0
  %v215 = insertelement <2 x float> %v215.0, float %v189, i32 1
  %v216 = fptrunc <2 x float> %v200 to <2 x half>
  %v217 = fptrunc <2 x float> %v201 to <2 x half>
  %v218 = fptrunc <2 x float> %v202 to <2 x half>
  %v219 = fptrunc <2 x float> %v203 to <2 x half>
  %v220 = fptrunc <2 x float> %v204 to <2 x half>
  %v221 = fptrunc <2 x float> %v205 to <2 x half>
  %v222 = fptrunc <2 x float> %v206 to <2 x half>
  %v223 = fptrunc <2 x float> %v207 to <2 x half>
  %v224 = fptrunc <2 x float> %v208 to <2 x half>
  %v225 = fptrunc <2 x float> %v209 to <2 x half>
  %v226 = fptrunc <2 x float> %v210 to <2 x half>
  %v227 = fptrunc <2 x float> %v211 to <2 x half>
  %v228 = fptrunc <2 x float> %v212 to <2 x half>
  %v229 = fptrunc <2 x float> %v213 to <2 x half>
  %v230 = fptrunc <2 x float> %v214 to <2 x half>
  %v231 = fptrunc <2 x float> %v215 to <2 x half>
  %v245 = add i32 %v3, %v244
  %v246 = add i32 %v245, 49408
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v246, <2 x half> %v216, <2 x half> %v217, <2 x half> %v218, <2 x half> %v219) #1
  %v251 = xor i32 %v244, 32
  %v252 = add i32 %v3, %v251
  %v253 = add i32 %v252, 49664
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v253, <2 x half> %v220, <2 x half> %v221, <2 x half> %v222, <2 x half> %v223) #1
  %v258 = xor i32 %v244, 64
  %v259 = add i32 %v3, %v258
  %v260 = add i32 %v259, 49536
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v260, <2 x half> %v224, <2 x half> %v225, <2 x half> %v226, <2 x half> %v227) #1
  %v265 = xor i32 %v244, 96
  %v266 = add i32 %v3, %v265
  %v267 = add i32 %v266, 49792
  call void asm sideeffect "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"(i32 %v267, <2 x half> %v228, <2 x half> %v229, <2 x half> %v230, <2 x half> %v231) #1
  call void asm sideeffect "bar.sync $0, $1;", "r,r,~{memory}"(i32 1, i32 128) #1
  %v286 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v285
  %v287 = getelementptr i8, ptr addrspace(3) %v286, i64 49408
  %v288 = load <8 x half>, ptr addrspace(3) %v287, align 16
  %v289 = getelementptr i8, ptr addrspace(3) %v286, i64 51456
  %v290 = load <8 x half>, ptr addrspace(3) %v289, align 16
  %v291 = getelementptr i8, ptr addrspace(3) %v286, i64 53504
  %v292 = load <8 x half>, ptr addrspace(3) %v291, align 16
  %v293 = getelementptr i8, ptr addrspace(3) %v286, i64 55552
  %v294 = load <8 x half>, ptr addrspace(3) %v293, align 16
  %v296 = sext i32 %v47 to i64
  %v297 = mul i64 %v296, 64
  %v298 = sub i64 0, %v297
  %v299 = call i64 @llvm.smax.i64(i64 %v298, i64 0)
  %v300 = call i64 @llvm.smin.i64(i64 %v299, i64 64)
  %v301 = trunc i64 %v300 to i32
  %v302 = sext i32 %p11 to i64
  %v303 = sub i64 %v302, %v297
  %v304 = call i64 @llvm.smax.i64(i64 %v303, i64 0)
  %v305 = call i64 @llvm.smin.i64(i64 %v304, i64 64)
  %v306 = trunc i64 %v305 to i32
  %v308 = icmp slt i32 %v307, %v306
  %v309 = icmp sge i32 %v307, %v301
  %v310 = and i1 %v308, %v309
  %v311 = sext i32 %v44 to i64
  %v312 = mul i64 %v311, 64
  %v313 = sub i64 0, %v312
  %v314 = call i64 @llvm.smax.i64(i64 %v313, i64 0)
  %v315 = call i64 @llvm.smin.i64(i64 %v314, i64 64)
  %v316 = trunc i64 %v315 to i32
  %v317 = sext i32 %p12 to i64
  %v318 = sub i64 %v317, %v312
  %v319 = call i64 @llvm.smax.i64(i64 %v318, i64 0)
  %v320 = call i64 @llvm.smin.i64(i64 %v319, i64 64)
  %v321 = trunc i64 %v320 to i32
  %v323 = icmp slt i32 %v322, %v321
  %v324 = icmp sge i32 %v322, %v316
  %v325 = and i1 %v323, %v324
  %v326 = and i1 %v310, %v325
  %v327 = sext i32 %p13 to i64
  %v328 = mul i64 %v327, 2
  %v329 = mul i64 %v297, %v328
  %v330 = mul i64 %v312, 2
  %v331 = add i64 %v329, %v330
  %v332 = getelementptr i8, ptr addrspace(1) %p10, i64 %v331
  %v333 = sext i32 %v307 to i64
  %v334 = mul i64 %v333, %v328
  %v335 = mul i32 %v322, 2
  %v336 = sext i32 %v335 to i64
  %v337 = add i64 %v334, %v336
  %v338 = getelementptr i8, ptr addrspace(1) %v332, i64 %v337
  %v339 = bitcast <8 x half> %v288 to <4 x i32>
  %v340 = extractelement <4 x i32> %v339, i32 0
  %v341 = extractelement <4 x i32> %v339, i32 1
  %v342 = extractelement <4 x i32> %v339, i32 2
  %v343 = extractelement <4 x i32> %v339, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v338, i1 %v326, i32 %v340, i32 %v341, i32 %v342, i32 %v343)
  %v344 = sub i32 %v306, 16
  %v345 = icmp slt i32 %v307, %v344
  %v346 = sub i32 %v301, 16
  %v347 = icmp sge i32 %v307, %v346
  %v348 = and i1 %v345, %v347
  %v349 = and i1 %v348, %v325
  %v350 = mul i64 %v328, 16
  %v351 = getelementptr i8, ptr addrspace(1) %v338, i64 %v350
  %v352 = bitcast <8 x half> %v290 to <4 x i32>
  %v353 = extractelement <4 x i32> %v352, i32 0
  %v354 = extractelement <4 x i32> %v352, i32 1
  %v355 = extractelement <4 x i32> %v352, i32 2
  %v356 = extractelement <4 x i32> %v352, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v351, i1 %v349, i32 %v353, i32 %v354, i32 %v355, i32 %v356)
  %v357 = sub i32 %v306, 32
  %v358 = icmp slt i32 %v307, %v357
  %v359 = sub i32 %v301, 32
  %v360 = icmp sge i32 %v307, %v359
  %v361 = and i1 %v358, %v360
  %v362 = and i1 %v361, %v325
  %v363 = mul i64 %v328, 32
  %v364 = getelementptr i8, ptr addrspace(1) %v338, i64 %v363
  %v365 = bitcast <8 x half> %v292 to <4 x i32>
  %v366 = extractelement <4 x i32> %v365, i32 0
  %v367 = extractelement <4 x i32> %v365, i32 1
  %v368 = extractelement <4 x i32> %v365, i32 2
  %v369 = extractelement <4 x i32> %v365, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v364, i1 %v362, i32 %v366, i32 %v367, i32 %v368, i32 %v369)
  %v370 = sub i32 %v306, 48
  %v371 = icmp slt i32 %v307, %v370
  %v372 = sub i32 %v301, 48
  %v373 = icmp sge i32 %v307, %v372
  %v374 = and i1 %v371, %v373
  %v375 = and i1 %v374, %v325
  %v376 = mul i64 %v328, 48
  %v377 = getelementptr i8, ptr addrspace(1) %v338, i64 %v376
  %v378 = bitcast <8 x half> %v294 to <4 x i32>
  %v379 = extractelement <4 x i32> %v378, i32 0
  %v380 = extractelement <4 x i32> %v378, i32 1
  %v381 = extractelement <4 x i32> %v378, i32 2
  %v382 = extractelement <4 x i32> %v378, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v377, i1 %v375, i32 %v379, i32 %v380, i32 %v381, i32 %v382)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="160" }
attributes #1 = { convergent nounwind }
