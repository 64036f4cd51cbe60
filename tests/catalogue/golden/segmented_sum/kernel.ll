target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @segmented_sum(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, ptr addrspace(1) noalias readonly align 16 %p3, i32 %p4, i32 %p5, ptr addrspace(1) align 16 %p6, i32 %p7, i32 %p8) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v29 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v30 = insertelement <4 x i32> poison, i32 %v29, i32 0
  %v31 = shufflevector <4 x i32> %v30, <4 x i32> poison, <4 x i32> zeroinitializer
  %v32 = add <4 x i32> %v31, <i32 0, i32 64, i32 128, i32 192>
  %v139 = and i32 %v29, 32
  %v140 = lshr i32 %v139, 3
  %v141 = and i32 %v29, 31
  %v142 = icmp eq i32 %v141, 0
  %v158 = and i32 %v29, 63
  %v159 = icmp eq i32 %v158, 0
  %v2 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v3 = sext <1 x i32> %v2 to <1 x i64>
  %v4 = mul <1 x i64> %v3, splat (i64 4)
  %v5 = extractelement <1 x i64> %v4, i32 0
  %v6 = getelementptr i8, ptr addrspace(1) %p3, i64 %v5
  %v7 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v8 = insertelement <1 x i32> poison, i32 %p4, i32 0
  %v9 = icmp ult <1 x i32> %v7, %v8
  %v11 = extractelement <1 x i1> %v9, i32 0
  %v12 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v6, i1 %v11, i32 0)
  %v15 = add i32 %v1, 1
  %v16 = insertelement <1 x i32> poison, i32 %v15, i32 0
  %v17 = sext <1 x i32> %v16 to <1 x i64>
  %v18 = mul <1 x i64> %v17, splat (i64 4)
  %v19 = extractelement <1 x i64> %v18, i32 0
  %v20 = getelementptr i8, ptr addrspace(1) %p3, i64 %v19
  %v21 = insertelement <1 x i32> poison, i32 %v15, i32 0
  %v22 = insertelement <1 x i32> poison, i32 %p4, i32 0
  %v23 = icmp ult <1 x i32> %v21, %v22
  %v25 = extractelement <1 x i1> %v23, i32 0
  %v26 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v20, i1 %v25, i32 0)
  %v33 = insertelement <4 x i32> poison, i32 %v26, i32 0
  %v34 = shufflevector <4 x i32> %v33, <4 x i32> poison, <4 x i32> zeroinitializer
  %v35 = icmp slt i32 %v12, %v26
  br i1 %v35, label %loop1, label %done2
loop1:
  %v36 = phi i32 [ %v12, %entry ], [ %v88, %loop1 ]
  %v37.lane0 = phi float [ 0x0000000000000000, %entry ], [ %v81, %loop1 ]
  %v37.lane1 = phi float [ 0x0000000000000000, %entry ], [ %v82, %loop1 ]
  %v37.lane2 = phi float [ 0x0000000000000000, %entry ], [ %v83, %loop1 ]
  %v37.lane3 = phi float [ 0x0000000000000000, %entry ], [ %v84, %loop1 ]
  %v38 = insertelement <4 x i32> poison, i32 %v36, i32 0
  %v39 = shufflevector <4 x i32> %v38, <4 x i32> poison, <4 x i32> zeroinitializer
  %v40 = add <4 x i32> %v39, %v32
  %v41 = icmp slt <4 x i32> %v40, %v34
  %v42 = sext <4 x i32> %v40 to <4 x i64>
  %v43 = mul <4 x i64> %v42, splat (i64 4)
  %v44 = extractelement <4 x i64> %v43, i32 0
  %v45 = getelementptr i8, ptr addrspace(1) %p0, i64 %v44
  %v46 = extractelement <4 x i64> %v43, i32 1
  %v47 = getelementptr i8, ptr addrspace(1) %p0, i64 %v46
  %v48 = extractelement <4 x i64> %v43, i32 2
  %v49 = getelementptr i8, ptr addrspace(1) %p0, i64 %v48
  %v50 = extractelement <4 x i64> %v43, i32 3
  %v51 = getelementptr i8, ptr addrspace(1) %p0, i64 %v50
  %v52 = insertelement <4 x i32> poison, i32 %p1, i32 0
  %v53 = shufflevector <4 x i32> %v52, <4 x i32> poison, <4 x i32> zeroinitializer
  %v54 = icmp ult <4 x i32> %v40, %v53
  %v55 = and <4 x i1> %v41, %v54
  %v56 = extractelement <4 x i1> %v55, i32 0
  %v57 = extractelement <4 x i1> %v55, i32 1
  %v58 = extractelement <4 x i1> %v55, i32 2
  %v59 = extractelement <4 x i1> %v55, i32 3
  %v61 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v45, i1 %v56, float 0x0000000000000000)
  %v66 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v47, i1 %v57, float 0x0000000000000000)
  %v71 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v49, i1 %v58, float 0x0000000000000000)
  %v76 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v51, i1 %v59, float 0x0000000000000000)
  %v81 = fadd float %v37.lane0, %v61
  %v82 = fadd float %v37.lane1, %v66
  %v83 = fadd float %v37.lane2, %v71
  %v84 = fadd float %v37.lane3, %v76
  %v86 = sub i32 %v26, %v36
  %v87 = icmp ugt i32 %v86, 256
  %v88 = add i32 %v36, 256
  br i1 %v87, label %loop1, label %done2
done2:
  %v89.lane0 = phi float [ 0x0000000000000000, %entry ], [ %v81, %loop1 ]
  %v89.lane1 = phi float [ 0x0000000000000000, %entry ], [ %v82, %loop1 ]
  %v89.lane2 = phi float [ 0x0000000000000000, %entry ], [ %v83, %loop1 ]
  %v89.lane3 = phi float [ 0x0000000000000000, %entry ], [ %v84, %loop1 ]
  %v92 = fadd float %v89.lane0, %v89.lane2
  %v93 = fadd float %v89.lane1, %v89.lane3
  %v97 = fadd float %v92, %v93
  %v101 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v97, i32 1) #1
  %v103 = bitcast i32 %v101 to float
  %v105 = fadd float %v97, %v103
  %v109 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v105, i32 2) #1
  %v111 = bitcast i32 %v109 to float
  %v113 = fadd float %v105, %v111
  %v117 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v113, i32 4) #1
  %v119 = bitcast i32 %v117 to float
  %v121 = fadd float %v113, %v119
  %v125 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v121, i32 8) #1
  %v127 = bitcast i32 %v125 to float
  %v129 = fadd float %v121, %v127
  %v133 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v129, i32 16) #1
  %v135 = bitcast i32 %v133 to float
  %v137 = fadd float %v129, %v135
  %v138 = insertelement <1 x float> poison, float %v137, i32 0
  br i1 %v142, label %owner3, label %done4
owner3:
  %v143 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v140
  store <1 x float> %v138, ptr addrspace(3) %v143, align 4
  br label %done4
done4:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v144 = load <2 x float>, ptr addrspace(3) @shared_memory, align 8
  %v145 = shufflevector <2 x float> %v144, <2 x float> poison, <1 x i32> zeroinitializer
  %v146 = shufflevector <2 x float> %v144, <2 x float> poison, <1 x i32> <i32 1>
  %v147 = fadd <1 x float> %v145, %v146
  %v148 = extractelement <1 x float> %v147, i32 0
  %v149 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v150 = sext <1 x i32> %v149 to <1 x i64>
  %v151 = mul <1 x i64> %v150, splat (i64 4)
  %v152 = extractelement <1 x i64> %v151, i32 0
  %v153 = getelementptr i8, ptr addrspace(1) %p6, i64 %v152
  %v154 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v155 = insertelement <1 x i32> poison, i32 %p7, i32 0
  %v156 = icmp ult <1 x i32> %v154, %v155
  %v160 = extractelement <1 x i1> %v156, i32 0
  %v161 = and i1 %v160, %v159
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v153, i1 %v161, float %v148)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
attributes #1 = { convergent nounwind }
