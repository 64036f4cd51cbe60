target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @segmented_sum(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, ptr addrspace(1) noalias readonly align 16 %p3, i32 %p4, i32 %p5, ptr addrspace(1) align 16 %p6, i32 %p7, i32 %p8) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v31 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v32 = insertelement <4 x i32> poison, i32 %v31, i32 0
  %v33 = shufflevector <4 x i32> %v32, <4 x i32> poison, <4 x i32> zeroinitializer
  %v34 = add <4 x i32> %v33, <i32 0, i32 64, i32 128, i32 192>
  %v118 = and i32 %v31, 32
  %v119 = lshr i32 %v118, 3
  %v120 = and i32 %v31, 31
  %v121 = icmp eq i32 %v120, 0
  %v135 = and i32 %v31, 63
  %v136 = icmp eq i32 %v135, 0
  %v2 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v3 = insertelement <1 x i32> poison, i32 %p4, i32 0
  %v4 = icmp ult <1 x i32> %v2, %v3
  %v5 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v6 = sext <1 x i32> %v5 to <1 x i64>
  %v7 = mul <1 x i64> %v6, splat (i64 4)
  %v8 = insertelement <1 x i32> poison, i32 0, i32 0
  %v9 = extractelement <1 x i64> %v7, i32 0
  %v10 = getelementptr i8, ptr addrspace(1) %p3, i64 %v9
  %v11 = extractelement <1 x i1> %v4, i32 0
  %v12 = extractelement <1 x i32> %v8, i32 0
  %v13 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v10, i1 %v11, i32 %v12)
  %v14 = insertelement <1 x i32> poison, i32 %v13, i32 0
  %v15 = extractelement <1 x i32> %v14, i32 0
  %v16 = add i32 %v1, 1
  %v17 = insertelement <1 x i32> poison, i32 %v16, i32 0
  %v18 = insertelement <1 x i32> poison, i32 %p4, i32 0
  %v19 = icmp ult <1 x i32> %v17, %v18
  %v20 = insertelement <1 x i32> poison, i32 %v16, i32 0
  %v21 = sext <1 x i32> %v20 to <1 x i64>
  %v22 = mul <1 x i64> %v21, splat (i64 4)
  %v23 = insertelement <1 x i32> poison, i32 0, i32 0
  %v24 = extractelement <1 x i64> %v22, i32 0
  %v25 = getelementptr i8, ptr addrspace(1) %p3, i64 %v24
  %v26 = extractelement <1 x i1> %v19, i32 0
  %v27 = extractelement <1 x i32> %v23, i32 0
  %v28 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v25, i1 %v26, i32 %v27)
  %v29 = insertelement <1 x i32> poison, i32 %v28, i32 0
  %v30 = extractelement <1 x i32> %v29, i32 0
  %v35 = insertelement <4 x i32> poison, i32 %v30, i32 0
  %v36 = shufflevector <4 x i32> %v35, <4 x i32> poison, <4 x i32> zeroinitializer
  %v37 = icmp slt i32 %v15, %v30
  br i1 %v37, label %loop1, label %done2
loop1:
  %v38 = phi i32 [ %v15, %entry ], [ %v80, %loop1 ]
  %v39 = phi <4 x float> [ splat (float 0x0000000000000000), %entry ], [ %v77, %loop1 ]
  %v40 = insertelement <4 x i32> poison, i32 %v38, i32 0
  %v41 = shufflevector <4 x i32> %v40, <4 x i32> poison, <4 x i32> zeroinitializer
  %v42 = add <4 x i32> %v41, %v34
  %v43 = icmp slt <4 x i32> %v42, %v36
  %v44 = insertelement <4 x i32> poison, i32 %p1, i32 0
  %v45 = shufflevector <4 x i32> %v44, <4 x i32> poison, <4 x i32> zeroinitializer
  %v46 = icmp ult <4 x i32> %v42, %v45
  %v47 = and <4 x i1> %v43, %v46
  %v48 = sext <4 x i32> %v42 to <4 x i64>
  %v49 = mul <4 x i64> %v48, splat (i64 4)
  %v50 = extractelement <4 x i64> %v49, i32 0
  %v51 = getelementptr i8, ptr addrspace(1) %p0, i64 %v50
  %v52 = extractelement <4 x i64> %v49, i32 1
  %v53 = getelementptr i8, ptr addrspace(1) %p0, i64 %v52
  %v54 = extractelement <4 x i64> %v49, i32 2
  %v55 = getelementptr i8, ptr addrspace(1) %p0, i64 %v54
  %v56 = extractelement <4 x i64> %v49, i32 3
  %v57 = getelementptr i8, ptr addrspace(1) %p0, i64 %v56
  %v58 = extractelement <4 x i1> %v47, i32 0
  %v59 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v51, i1 %v58, i32 0)
  %v60 = insertelement <1 x i32> poison, i32 %v59, i32 0
  %v61 = bitcast <1 x i32> %v60 to <1 x float>
  %v62 = extractelement <4 x i1> %v47, i32 1
  %v63 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v53, i1 %v62, i32 0)
  %v64 = insertelement <1 x i32> poison, i32 %v63, i32 0
  %v65 = bitcast <1 x i32> %v64 to <1 x float>
  %v66 = extractelement <4 x i1> %v47, i32 2
  %v67 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v55, i1 %v66, i32 0)
  %v68 = insertelement <1 x i32> poison, i32 %v67, i32 0
  %v69 = bitcast <1 x i32> %v68 to <1 x float>
  %v70 = extractelement <4 x i1> %v47, i32 3
  %v71 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v57, i1 %v70, i32 0)
  %v72 = insertelement <1 x i32> poison, i32 %v71, i32 0
  %v73 = bitcast <1 x i32> %v72 to <1 x float>
  %v74 = shufflevector <1 x float> %v61, <1 x float> %v65, <2 x i32> <i32 0, i32 1>
  %v75 = shufflevector <1 x float> %v69, <1 x float> %v73, <2 x i32> <i32 0, i32 1>
  %v76 = shufflevector <2 x float> %v74, <2 x float> %v75, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %v77 = fadd <4 x float> %v39, %v76
  %v78 = sub i32 %v30, %v38
  %v79 = icmp ugt i32 %v78, 256
  %v80 = add i32 %v38, 256
  br i1 %v79, label %loop1, label %done2
done2:
  %v81 = phi <4 x float> [ splat (float 0x0000000000000000), %entry ], [ %v77, %loop1 ]
  %v82 = shufflevector <4 x float> %v81, <4 x float> poison, <2 x i32> <i32 0, i32 1>
  %v83 = shufflevector <4 x float> %v81, <4 x float> poison, <2 x i32> <i32 2, i32 3>
  %v84 = fadd <2 x float> %v82, %v83
  %v85 = shufflevector <2 x float> %v84, <2 x float> poison, <1 x i32> <i32 0>
  %v86 = shufflevector <2 x float> %v84, <2 x float> poison, <1 x i32> <i32 1>
  %v87 = fadd <1 x float> %v85, %v86
  %v88 = bitcast <1 x float> %v87 to <1 x i32>
  %v89 = extractelement <1 x i32> %v88, i32 0
  %v90 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v89, i32 1) #1
  %v91 = insertelement <1 x i32> poison, i32 %v90, i32 0
  %v92 = bitcast <1 x i32> %v91 to <1 x float>
  %v93 = fadd <1 x float> %v87, %v92
  %v94 = bitcast <1 x float> %v93 to <1 x i32>
  %v95 = extractelement <1 x i32> %v94, i32 0
  %v96 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v95, i32 2) #1
  %v97 = insertelement <1 x i32> poison, i32 %v96, i32 0
  %v98 = bitcast <1 x i32> %v97 to <1 x float>
  %v99 = fadd <1 x float> %v93, %v98
  %v100 = bitcast <1 x float> %v99 to <1 x i32>
  %v101 = extractelement <1 x i32> %v100, i32 0
  %v102 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v101, i32 4) #1
  %v103 = insertelement <1 x i32> poison, i32 %v102, i32 0
  %v104 = bitcast <1 x i32> %v103 to <1 x float>
  %v105 = fadd <1 x float> %v99, %v104
  %v106 = bitcast <1 x float> %v105 to <1 x i32>
  %v107 = extractelement <1 x i32> %v106, i32 0
  %v108 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v107, i32 8) #1
  %v109 = insertelement <1 x i32> poison, i32 %v108, i32 0
  %v110 = bitcast <1 x i32> %v109 to <1 x float>
  %v111 = fadd <1 x float> %v105, %v110
  %v112 = bitcast <1 x float> %v111 to <1 x i32>
  %v113 = extractelement <1 x i32> %v112, i32 0
  %v114 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %v113, i32 16) #1
  %v115 = insertelement <1 x i32> poison, i32 %v114, i32 0
  %v116 = bitcast <1 x i32> %v115 to <1 x float>
  %v117 = fadd <1 x float> %v111, %v116
  br i1 %v121, label %owner4, label %stored3
owner4:
  %v122 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v119
  store <1 x float> %v117, ptr addrspace(3) %v122, align 4
  br label %stored3
stored3:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v123 = load <2 x float>, ptr addrspace(3) @shared_memory, align 8
  %v124 = shufflevector <2 x float> %v123, <2 x float> poison, <1 x i32> <i32 0>
  %v125 = shufflevector <2 x float> %v123, <2 x float> poison, <1 x i32> <i32 1>
  %v126 = fadd <1 x float> %v124, %v125
  %v127 = extractelement <1 x float> %v126, i32 0
  %v128 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v129 = insertelement <1 x i32> poison, i32 %p7, i32 0
  %v130 = icmp ult <1 x i32> %v128, %v129
  %v131 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v132 = sext <1 x i32> %v131 to <1 x i64>
  %v133 = mul <1 x i64> %v132, splat (i64 4)
  %v134 = insertelement <1 x float> poison, float %v127, i32 0
  %v137 = extractelement <1 x i1> %v130, i32 0
  %v138 = and i1 %v137, %v136
  %v139 = extractelement <1 x i64> %v133, i32 0
  %v140 = getelementptr i8, ptr addrspace(1) %p6, i64 %v139
  %v141 = extractelement <1 x float> %v134, i32 0
  %v142 = bitcast float %v141 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v140, i1 %v138, i32 %v142)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
attributes #1 = { convergent nounwind }
