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
  %v123 = and i32 %v29, 32
  %v124 = lshr i32 %v123, 3
  %v125 = and i32 %v29, 31
  %v126 = icmp eq i32 %v125, 0
  %v142 = and i32 %v29, 63
  %v143 = icmp eq i32 %v142, 0
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
  %v36 = phi i32 [ %v12, %entry ], [ %v80, %loop1 ]
  %v37 = phi <4 x float> [ splat (float 0x0000000000000000), %entry ], [ %v77, %loop1 ]
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
  %v60 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v45, i1 %v56, i32 0)
  %v62 = bitcast i32 %v60 to float
  %v64 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v47, i1 %v57, i32 0)
  %v66 = bitcast i32 %v64 to float
  %v68 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v49, i1 %v58, i32 0)
  %v70 = bitcast i32 %v68 to float
  %v72 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v51, i1 %v59, i32 0)
  %v74 = bitcast i32 %v72 to float
  %v76.0 = insertelement <4 x float> poison, float %v62, i32 0
  %v76.1 = insertelement <4 x float> %v76.0, float %v66, i32 1
  %v76.2 = insertelement <4 x float> %v76.1, float %v70, i32 2
  %v76 = insertelement <4 x float> %v76.2, float %v74, i32 3
  %v77 = fadd <4 x float> %v37, %v76
  %v78 = sub i32 %v26, %v36
  %v79 = icmp ugt i32 %v78, 256
  %v80 = add i32 %v36, 256
  br i1 %v79, label %loop1, label %done2
done2:
  %v81 = phi <4 x float> [ splat (float 0x0000000000000000), %entry ], [ %v77, %loop1 ]
  %v81.lane0 = extractelement <4 x float> %v81, i32 0
  %v81.lane1 = extractelement <4 x float> %v81, i32 1
  %v81.lane2 = extractelement <4 x float> %v81, i32 2
  %v81.lane3 = extractelement <4 x float> %v81, i32 3
  %v82.0 = insertelement <2 x float> poison, float %v81.lane0, i32 0
  %v82 = insertelement <2 x float> %v82.0, float %v81.lane1, i32 1
  %v83.0 = insertelement <2 x float> poison, float %v81.lane2, i32 0
  %v83 = insertelement <2 x float> %v83.0, float %v81.lane3, i32 1
  %v84 = fadd <2 x float> %v82, %v83
  %v85 = shufflevector <2 x float> %v84, <2 x float> poison, <1 x i32> zeroinitializer
  %v86 = shufflevector <2 x float> %v84, <2 x float> poison, <1 x i32> <i32 1>
  %v87 = fadd <1 x float> %v85, %v86
  %v88 = bitcast <1 x float> %v87 to <1 x i32>
  %v89 = extractelement <1 x i32> %v88, i32 0
  %v90 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v89, i32 1) #1
  %v92 = bitcast i32 %v90 to float
  %v93 = insertelement <1 x float> poison, float %v92, i32 0
  %v94 = fadd <1 x float> %v87, %v93
  %v95 = bitcast <1 x float> %v94 to <1 x i32>
  %v96 = extractelement <1 x i32> %v95, i32 0
  %v97 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v96, i32 2) #1
  %v99 = bitcast i32 %v97 to float
  %v100 = insertelement <1 x float> poison, float %v99, i32 0
  %v101 = fadd <1 x float> %v94, %v100
  %v102 = bitcast <1 x float> %v101 to <1 x i32>
  %v103 = extractelement <1 x i32> %v102, i32 0
  %v104 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v103, i32 4) #1
  %v106 = bitcast i32 %v104 to float
  %v107 = insertelement <1 x float> poison, float %v106, i32 0
  %v108 = fadd <1 x float> %v101, %v107
  %v109 = bitcast <1 x float> %v108 to <1 x i32>
  %v110 = extractelement <1 x i32> %v109, i32 0
  %v111 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v110, i32 8) #1
  %v113 = bitcast i32 %v111 to float
  %v114 = insertelement <1 x float> poison, float %v113, i32 0
  %v115 = fadd <1 x float> %v108, %v114
  %v116 = bitcast <1 x float> %v115 to <1 x i32>
  %v117 = extractelement <1 x i32> %v116, i32 0
  %v118 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v117, i32 16) #1
  %v120 = bitcast i32 %v118 to float
  %v121 = insertelement <1 x float> poison, float %v120, i32 0
  %v122 = fadd <1 x float> %v115, %v121
  br i1 %v126, label %owner3, label %done4
owner3:
  %v127 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v124
  store <1 x float> %v122, ptr addrspace(3) %v127, align 4
  br label %done4
done4:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v128 = load <2 x float>, ptr addrspace(3) @shared_memory, align 8
  %v129 = shufflevector <2 x float> %v128, <2 x float> poison, <1 x i32> zeroinitializer
  %v130 = shufflevector <2 x float> %v128, <2 x float> poison, <1 x i32> <i32 1>
  %v131 = fadd <1 x float> %v129, %v130
  %v132 = extractelement <1 x float> %v131, i32 0
  %v133 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v134 = sext <1 x i32> %v133 to <1 x i64>
  %v135 = mul <1 x i64> %v134, splat (i64 4)
  %v136 = extractelement <1 x i64> %v135, i32 0
  %v137 = getelementptr i8, ptr addrspace(1) %p6, i64 %v136
  %v138 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v139 = insertelement <1 x i32> poison, i32 %p7, i32 0
  %v140 = icmp ult <1 x i32> %v138, %v139
  %v144 = extractelement <1 x i1> %v140, i32 0
  %v145 = and i1 %v144, %v143
  %v146 = bitcast float %v132 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v137, i1 %v145, i32 %v146)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
attributes #1 = { convergent nounwind }
