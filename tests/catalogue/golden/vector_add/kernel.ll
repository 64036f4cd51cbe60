target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
define ptx_kernel void @vector_add(ptr addrspace(1) noalias readonly align 16 %p0, i32 %p1, i32 %p2, ptr addrspace(1) noalias readonly align 16 %p3, i32 %p4, i32 %p5, ptr addrspace(1) align 16 %p6, i32 %p7, i32 %p8) #0 {
entry:
  %v1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v6 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v7 = shl i32 %v6, 2
  %v2 = sext i32 %v1 to i64
  %v3 = mul i64 %v2, 256
  %v4 = mul i64 %v3, 4
  %v5 = getelementptr i8, ptr addrspace(1) %p0, i64 %v4
  %v8 = mul i32 %v7, 4
  %v9 = sext i32 %v8 to i64
  %v10 = getelementptr i8, ptr addrspace(1) %v5, i64 %v9
  %v11 = sext i32 %v1 to i64
  %v12 = mul i64 %v11, 256
  %v13 = sext i32 %p1 to i64
  %v14 = sub i64 %v13, %v12
  %v15 = call i64 @llvm.smax.i64(i64 %v14, i64 0)
  %v16 = call i64 @llvm.smin.i64(i64 %v15, i64 256)
  %v17 = trunc i64 %v16 to i32
  %v18 = icmp slt i32 %v7, %v17
  %v19 = sub i32 %v17, 1
  %v20 = icmp slt i32 %v7, %v19
  %v21 = sub i32 %v17, 2
  %v22 = icmp slt i32 %v7, %v21
  %v23 = sub i32 %v17, 3
  %v24 = icmp slt i32 %v7, %v23
  %v25 = icmp sge i32 %v17, 256
  br i1 %v25, label %whole1, label %edge2
whole1:
  %v26 = load <4 x float>, ptr addrspace(1) %v10, align 16, !invariant.load !0
  br label %loaded3
edge2:
  %v27 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v10, i1 %v18, i32 0)
  %v28 = insertelement <1 x i32> poison, i32 %v27, i32 0
  %v29 = bitcast <1 x i32> %v28 to <1 x float>
  %v30 = getelementptr i8, ptr addrspace(1) %v10, i64 4
  %v31 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v30, i1 %v20, i32 0)
  %v32 = insertelement <1 x i32> poison, i32 %v31, i32 0
  %v33 = bitcast <1 x i32> %v32 to <1 x float>
  %v34 = getelementptr i8, ptr addrspace(1) %v10, i64 8
  %v35 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v34, i1 %v22, i32 0)
  %v36 = insertelement <1 x i32> poison, i32 %v35, i32 0
  %v37 = bitcast <1 x i32> %v36 to <1 x float>
  %v38 = getelementptr i8, ptr addrspace(1) %v10, i64 12
  %v39 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v38, i1 %v24, i32 0)
  %v40 = insertelement <1 x i32> poison, i32 %v39, i32 0
  %v41 = bitcast <1 x i32> %v40 to <1 x float>
  %v42 = shufflevector <1 x float> %v29, <1 x float> %v33, <2 x i32> <i32 0, i32 1>
  %v43 = shufflevector <1 x float> %v37, <1 x float> %v41, <2 x i32> <i32 0, i32 1>
  %v44 = shufflevector <2 x float> %v42, <2 x float> %v43, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  br label %loaded3
loaded3:
  %v45 = phi <4 x float> [ %v26, %whole1 ], [ %v44, %edge2 ]
  %v46 = sext i32 %v1 to i64
  %v47 = mul i64 %v46, 256
  %v48 = mul i64 %v47, 4
  %v49 = getelementptr i8, ptr addrspace(1) %p3, i64 %v48
  %v50 = mul i32 %v7, 4
  %v51 = sext i32 %v50 to i64
  %v52 = getelementptr i8, ptr addrspace(1) %v49, i64 %v51
  %v53 = sext i32 %v1 to i64
  %v54 = mul i64 %v53, 256
  %v55 = sext i32 %p4 to i64
  %v56 = sub i64 %v55, %v54
  %v57 = call i64 @llvm.smax.i64(i64 %v56, i64 0)
  %v58 = call i64 @llvm.smin.i64(i64 %v57, i64 256)
  %v59 = trunc i64 %v58 to i32
  %v60 = icmp slt i32 %v7, %v59
  %v61 = sub i32 %v59, 1
  %v62 = icmp slt i32 %v7, %v61
  %v63 = sub i32 %v59, 2
  %v64 = icmp slt i32 %v7, %v63
  %v65 = sub i32 %v59, 3
  %v66 = icmp slt i32 %v7, %v65
  %v67 = icmp sge i32 %v59, 256
  br i1 %v67, label %whole4, label %edge5
whole4:
  %v68 = load <4 x float>, ptr addrspace(1) %v52, align 16, !invariant.load !0
  br label %loaded6
edge5:
  %v69 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v52, i1 %v60, i32 0)
  %v70 = insertelement <1 x i32> poison, i32 %v69, i32 0
  %v71 = bitcast <1 x i32> %v70 to <1 x float>
  %v72 = getelementptr i8, ptr addrspace(1) %v52, i64 4
  %v73 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v72, i1 %v62, i32 0)
  %v74 = insertelement <1 x i32> poison, i32 %v73, i32 0
  %v75 = bitcast <1 x i32> %v74 to <1 x float>
  %v76 = getelementptr i8, ptr addrspace(1) %v52, i64 8
  %v77 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v76, i1 %v64, i32 0)
  %v78 = insertelement <1 x i32> poison, i32 %v77, i32 0
  %v79 = bitcast <1 x i32> %v78 to <1 x float>
  %v80 = getelementptr i8, ptr addrspace(1) %v52, i64 12
  %v81 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v80, i1 %v66, i32 0)
  %v82 = insertelement <1 x i32> poison, i32 %v81, i32 0
  %v83 = bitcast <1 x i32> %v82 to <1 x float>
  %v84 = shufflevector <1 x float> %v71, <1 x float> %v75, <2 x i32> <i32 0, i32 1>
  %v85 = shufflevector <1 x float> %v79, <1 x float> %v83, <2 x i32> <i32 0, i32 1>
  %v86 = shufflevector <2 x float> %v84, <2 x float> %v85, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  br label %loaded6
loaded6:
  %v87 = phi <4 x float> [ %v68, %whole4 ], [ %v86, %edge5 ]
  %v88 = fadd <4 x float> %v45, %v87
  %v89 = sext i32 %v1 to i64
  %v90 = mul i64 %v89, 256
  %v91 = mul i64 %v90, 4
  %v92 = getelementptr i8, ptr addrspace(1) %p6, i64 %v91
  %v93 = mul i32 %v7, 4
  %v94 = sext i32 %v93 to i64
  %v95 = getelementptr i8, ptr addrspace(1) %v92, i64 %v94
  %v96 = sext i32 %v1 to i64
  %v97 = mul i64 %v96, 256
  %v98 = sext i32 %p7 to i64
  %v99 = sub i64 %v98, %v97
  %v100 = call i64 @llvm.smax.i64(i64 %v99, i64 0)
  %v101 = call i64 @llvm.smin.i64(i64 %v100, i64 256)
  %v102 = trunc i64 %v101 to i32
  %v103 = icmp slt i32 %v7, %v102
  %v104 = sub i32 %v102, 1
  %v105 = icmp slt i32 %v7, %v104
  %v106 = sub i32 %v102, 2
  %v107 = icmp slt i32 %v7, %v106
  %v108 = sub i32 %v102, 3
  %v109 = icmp slt i32 %v7, %v108
  %v110 = icmp sge i32 %v102, 256
  br i1 %v110, label %whole7, label %edge8
whole7:
  store <4 x float> %v88, ptr addrspace(1) %v95, align 16
  br label %stored9
edge8:
  %v111 = shufflevector <4 x float> %v88, <4 x float> poison, <1 x i32> <i32 0>
  %v112 = extractelement <1 x float> %v111, i32 0
  %v113 = bitcast float %v112 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v95, i1 %v103, i32 %v113)
  %v114 = shufflevector <4 x float> %v88, <4 x float> poison, <1 x i32> <i32 1>
  %v115 = getelementptr i8, ptr addrspace(1) %v95, i64 4
  %v116 = extractelement <1 x float> %v114, i32 0
  %v117 = bitcast float %v116 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v115, i1 %v105, i32 %v117)
  %v118 = shufflevector <4 x float> %v88, <4 x float> poison, <1 x i32> <i32 2>
  %v119 = getelementptr i8, ptr addrspace(1) %v95, i64 8
  %v120 = extractelement <1 x float> %v118, i32 0
  %v121 = bitcast float %v120 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v119, i1 %v107, i32 %v121)
  %v122 = shufflevector <4 x float> %v88, <4 x float> poison, <1 x i32> <i32 3>
  %v123 = getelementptr i8, ptr addrspace(1) %v95, i64 12
  %v124 = extractelement <1 x float> %v122, i32 0
  %v125 = bitcast float %v124 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v123, i1 %v109, i32 %v125)
  br label %stored9
stored9:
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
