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
  %v116 = and i32 %v29, 32
  %v117 = lshr i32 %v116, 3
  %v118 = and i32 %v29, 31
  %v119 = icmp eq i32 %v118, 0
  %v135 = and i32 %v29, 63
  %v136 = icmp eq i32 %v135, 0
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
  %v36 = phi i32 [ %v12, %entry ], [ %v78, %loop1 ]
  %v37 = phi <4 x float> [ splat (float 0x0000000000000000), %entry ], [ %v75, %loop1 ]
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
  %v57 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v45, i1 %v56, i32 0)
  %v58 = insertelement <1 x i32> poison, i32 %v57, i32 0
  %v59 = bitcast <1 x i32> %v58 to <1 x float>
  %v60 = extractelement <4 x i1> %v55, i32 1
  %v61 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v47, i1 %v60, i32 0)
  %v62 = insertelement <1 x i32> poison, i32 %v61, i32 0
  %v63 = bitcast <1 x i32> %v62 to <1 x float>
  %v64 = extractelement <4 x i1> %v55, i32 2
  %v65 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v49, i1 %v64, i32 0)
  %v66 = insertelement <1 x i32> poison, i32 %v65, i32 0
  %v67 = bitcast <1 x i32> %v66 to <1 x float>
  %v68 = extractelement <4 x i1> %v55, i32 3
  %v69 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v51, i1 %v68, i32 0)
  %v70 = insertelement <1 x i32> poison, i32 %v69, i32 0
  %v71 = bitcast <1 x i32> %v70 to <1 x float>
  %v72 = shufflevector <1 x float> %v59, <1 x float> %v63, <2 x i32> <i32 0, i32 1>
  %v73 = shufflevector <1 x float> %v67, <1 x float> %v71, <2 x i32> <i32 0, i32 1>
  %v74 = shufflevector <2 x float> %v72, <2 x float> %v73, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v75 = fadd <4 x float> %v37, %v74
  %v76 = sub i32 %v26, %v36
  %v77 = icmp ugt i32 %v76, 256
  %v78 = add i32 %v36, 256
  br i1 %v77, label %loop1, label %done2
done2:
  %v79 = phi <4 x float> [ splat (float 0x0000000000000000), %entry ], [ %v75, %loop1 ]
  %v79.lane0 = extractelement <4 x float> %v79, i32 0
  %v79.lane1 = extractelement <4 x float> %v79, i32 1
  %v79.lane2 = extractelement <4 x float> %v79, i32 2
  %v79.lane3 = extractelement <4 x float> %v79, i32 3
  %v80.0 = insertelement <2 x float> poison, float %v79.lane0, i32 0
  %v80 = insertelement <2 x float> %v80.0, float %v79.lane1, i32 1
  %v81.0 = insertelement <2 x float> poison, float %v79.lane2, i32 0
  %v81 = insertelement <2 x float> %v81.0, float %v79.lane3, i32 1
  %v82 = fadd <2 x float> %v80, %v81
  %v83 = shufflevector <2 x float> %v82, <2 x float> poison, <1 x i32> <i32 0>
  %v84 = shufflevector <2 x float> %v82, <2 x float> poison, <1 x i32> <i32 1>
  %v85 = fadd <1 x float> %v83, %v84
  %v86 = bitcast <1 x float> %v85 to <1 x i32>
  %v87 = extractelement <1 x i32> %v86, i32 0
  %v88 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v87, i32 1) #1
  %v89 = insertelement <1 x i32> poison, i32 %v88, i32 0
  %v90 = bitcast <1 x i32> %v89 to <1 x float>
  %v91 = fadd <1 x float> %v85, %v90
  %v92 = bitcast <1 x float> %v91 to <1 x i32>
  %v93 = extractelement <1 x i32> %v92, i32 0
  %v94 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v93, i32 2) #1
  %v95 = insertelement <1 x i32> poison, i32 %v94, i32 0
  %v96 = bitcast <1 x i32> %v95 to <1 x float>
  %v97 = fadd <1 x float> %v91, %v96
  %v98 = bitcast <1 x float> %v97 to <1 x i32>
  %v99 = extractelement <1 x i32> %v98, i32 0
  %v100 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v99, i32 4) #1
  %v101 = insertelement <1 x i32> poison, i32 %v100, i32 0
  %v102 = bitcast <1 x i32> %v101 to <1 x float>
  %v103 = fadd <1 x float> %v97, %v102
  %v104 = bitcast <1 x float> %v103 to <1 x i32>
  %v105 = extractelement <1 x i32> %v104, i32 0
  %v106 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v105, i32 8) #1
  %v107 = insertelement <1 x i32> poison, i32 %v106, i32 0
  %v108 = bitcast <1 x i32> %v107 to <1 x float>
  %v109 = fadd <1 x float> %v103, %v108
  %v110 = bitcast <1 x float> %v109 to <1 x i32>
  %v111 = extractelement <1 x i32> %v110, i32 0
  %v112 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v111, i32 16) #1
  %v113 = insertelement <1 x i32> poison, i32 %v112, i32 0
  %v114 = bitcast <1 x i32> %v113 to <1 x float>
  %v115 = fadd <1 x float> %v109, %v114
  br i1 %v119, label %owner4, label %stored3
owner4:
  %v120 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v117
  store <1 x float> %v115, ptr addrspace(3) %v120, align 4
  br label %stored3
stored3:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v121 = load <2 x float>, ptr addrspace(3) @shared_memory, align 8
  %v122 = shufflevector <2 x float> %v121, <2 x float> poison, <1 x i32> <i32 0>
  %v123 = shufflevector <2 x float> %v121, <2 x float> poison, <1 x i32> <i32 1>
  %v124 = fadd <1 x float> %v122, %v123
  %v125 = extractelement <1 x float> %v124, i32 0
  %v126 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v127 = sext <1 x i32> %v126 to <1 x i64>
  %v128 = mul <1 x i64> %v127, splat (i64 4)
  %v129 = extractelement <1 x i64> %v128, i32 0
  %v130 = getelementptr i8, ptr addrspace(1) %p6, i64 %v129
  %v131 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v132 = insertelement <1 x i32> poison, i32 %p7, i32 0
  %v133 = icmp ult <1 x i32> %v131, %v132
  %v137 = extractelement <1 x i1> %v133, i32 0
  %v138 = and i1 %v137, %v136
  %v139 = bitcast float %v125 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v130, i1 %v138, i32 %v139)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
attributes #1 = { convergent nounwind }
