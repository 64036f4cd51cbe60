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
  br label %done3
edge2:
  %v27 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v10, i1 %v18, i32 0)
  %v29 = bitcast i32 %v27 to float
  %v31 = getelementptr i8, ptr addrspace(1) %v10, i64 4
  %v32 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v31, i1 %v20, i32 0)
  %v34 = bitcast i32 %v32 to float
  %v36 = getelementptr i8, ptr addrspace(1) %v10, i64 8
  %v37 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v36, i1 %v22, i32 0)
  %v39 = bitcast i32 %v37 to float
  %v41 = getelementptr i8, ptr addrspace(1) %v10, i64 12
  %v42 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v41, i1 %v24, i32 0)
  %v44 = bitcast i32 %v42 to float
  %v46.0 = insertelement <4 x float> poison, float %v29, i32 0
  %v46.1 = insertelement <4 x float> %v46.0, float %v34, i32 1
  %v46.2 = insertelement <4 x float> %v46.1, float %v39, i32 2
  %v46 = insertelement <4 x float> %v46.2, float %v44, i32 3
  br label %done3
done3:
  %v47 = phi <4 x float> [ %v26, %whole1 ], [ %v46, %edge2 ]
  %v48 = sext i32 %v1 to i64
  %v49 = mul i64 %v48, 256
  %v50 = mul i64 %v49, 4
  %v51 = getelementptr i8, ptr addrspace(1) %p3, i64 %v50
  %v52 = mul i32 %v7, 4
  %v53 = sext i32 %v52 to i64
  %v54 = getelementptr i8, ptr addrspace(1) %v51, i64 %v53
  %v55 = sext i32 %v1 to i64
  %v56 = mul i64 %v55, 256
  %v57 = sext i32 %p4 to i64
  %v58 = sub i64 %v57, %v56
  %v59 = call i64 @llvm.smax.i64(i64 %v58, i64 0)
  %v60 = call i64 @llvm.smin.i64(i64 %v59, i64 256)
  %v61 = trunc i64 %v60 to i32
  %v62 = icmp slt i32 %v7, %v61
  %v63 = sub i32 %v61, 1
  %v64 = icmp slt i32 %v7, %v63
  %v65 = sub i32 %v61, 2
  %v66 = icmp slt i32 %v7, %v65
  %v67 = sub i32 %v61, 3
  %v68 = icmp slt i32 %v7, %v67
  %v69 = icmp sge i32 %v61, 256
  br i1 %v69, label %whole4, label %edge5
whole4:
  %v70 = load <4 x float>, ptr addrspace(1) %v54, align 16, !invariant.load !0
  br label %done6
edge5:
  %v71 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v54, i1 %v62, i32 0)
  %v73 = bitcast i32 %v71 to float
  %v75 = getelementptr i8, ptr addrspace(1) %v54, i64 4
  %v76 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v75, i1 %v64, i32 0)
  %v78 = bitcast i32 %v76 to float
  %v80 = getelementptr i8, ptr addrspace(1) %v54, i64 8
  %v81 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v80, i1 %v66, i32 0)
  %v83 = bitcast i32 %v81 to float
  %v85 = getelementptr i8, ptr addrspace(1) %v54, i64 12
  %v86 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v85, i1 %v68, i32 0)
  %v88 = bitcast i32 %v86 to float
  %v90.0 = insertelement <4 x float> poison, float %v73, i32 0
  %v90.1 = insertelement <4 x float> %v90.0, float %v78, i32 1
  %v90.2 = insertelement <4 x float> %v90.1, float %v83, i32 2
  %v90 = insertelement <4 x float> %v90.2, float %v88, i32 3
  br label %done6
done6:
  %v91 = phi <4 x float> [ %v70, %whole4 ], [ %v90, %edge5 ]
  %v92 = fadd <4 x float> %v47, %v91
  %v93 = sext i32 %v1 to i64
  %v94 = mul i64 %v93, 256
  %v95 = mul i64 %v94, 4
  %v96 = getelementptr i8, ptr addrspace(1) %p6, i64 %v95
  %v97 = mul i32 %v7, 4
  %v98 = sext i32 %v97 to i64
  %v99 = getelementptr i8, ptr addrspace(1) %v96, i64 %v98
  %v100 = sext i32 %v1 to i64
  %v101 = mul i64 %v100, 256
  %v102 = sext i32 %p7 to i64
  %v103 = sub i64 %v102, %v101
  %v104 = call i64 @llvm.smax.i64(i64 %v103, i64 0)
  %v105 = call i64 @llvm.smin.i64(i64 %v104, i64 256)
  %v106 = trunc i64 %v105 to i32
  %v107 = icmp slt i32 %v7, %v106
  %v108 = sub i32 %v106, 1
  %v109 = icmp slt i32 %v7, %v108
  %v110 = sub i32 %v106, 2
  %v111 = icmp slt i32 %v7, %v110
  %v112 = sub i32 %v106, 3
  %v113 = icmp slt i32 %v7, %v112
  %v114 = icmp sge i32 %v106, 256
  br i1 %v114, label %whole7, label %edge8
whole7:
  store <4 x float> %v92, ptr addrspace(1) %v99, align 16
  br label %done9
edge8:
  %v115 = shufflevector <4 x float> %v92, <4 x float> poison, <1 x i32> <i32 0>
  %v116 = extractelement <1 x float> %v115, i32 0
  %v117 = bitcast float %v116 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v99, i1 %v107, i32 %v117)
  %v118 = shufflevector <4 x float> %v92, <4 x float> poison, <1 x i32> <i32 1>
  %v119 = getelementptr i8, ptr addrspace(1) %v99, i64 4
  %v120 = extractelement <1 x float> %v118, i32 0
  %v121 = bitcast float %v120 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v119, i1 %v109, i32 %v121)
  %v122 = shufflevector <4 x float> %v92, <4 x float> poison, <1 x i32> <i32 2>
  %v123 = getelementptr i8, ptr addrspace(1) %v99, i64 8
  %v124 = extractelement <1 x float> %v122, i32 0
  %v125 = bitcast float %v124 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v123, i1 %v111, i32 %v125)
  %v126 = shufflevector <4 x float> %v92, <4 x float> poison, <1 x i32> <i32 3>
  %v127 = getelementptr i8, ptr addrspace(1) %v99, i64 12
  %v128 = extractelement <1 x float> %v126, i32 0
  %v129 = bitcast float %v128 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v127, i1 %v113, i32 %v129)
  br label %done9
done9:
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
