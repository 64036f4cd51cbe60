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
  %v137 = and i32 %v29, 32
  %v138 = lshr i32 %v137, 3
  %v139 = and i32 %v29, 31
  %v140 = icmp eq i32 %v139, 0
  %v156 = and i32 %v29, 63
  %v157 = icmp eq i32 %v156, 0
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
  %v36 = phi i32 [ %v12, %entry ], [ %v86, %loop1 ]
  %v37.lane0 = phi float [ 0x0000000000000000, %entry ], [ %v79, %loop1 ]
  %v37.lane1 = phi float [ 0x0000000000000000, %entry ], [ %v80, %loop1 ]
  %v37.lane2 = phi float [ 0x0000000000000000, %entry ], [ %v81, %loop1 ]
  %v37.lane3 = phi float [ 0x0000000000000000, %entry ], [ %v82, %loop1 ]
  %v38 = insertelement <4 x i32> poison, i32 %v36, i32 0
  %v39 = shufflevector <4 x i32> %v38, <4 x i32> poison, <4 x i32> zeroinitializer
  %v40 = add <4 x i32> %v39, %v32
  %v41 = icmp slt <4 x i32> %v40, %v34
  %v42 = shufflevector <4 x i32> %v40, <4 x i32> poison, <1 x i32> zeroinitializer
  %v43 = sext <1 x i32> %v42 to <1 x i64>
  %v44 = mul <1 x i64> %v43, splat (i64 4)
  %v45 = extractelement <1 x i64> %v44, i32 0
  %v46 = getelementptr i8, ptr addrspace(1) %p0, i64 %v45
  %v47 = getelementptr i8, ptr addrspace(1) %v46, i64 256
  %v48 = getelementptr i8, ptr addrspace(1) %v46, i64 512
  %v49 = getelementptr i8, ptr addrspace(1) %v46, i64 768
  %v50 = insertelement <4 x i32> poison, i32 %p1, i32 0
  %v51 = shufflevector <4 x i32> %v50, <4 x i32> poison, <4 x i32> zeroinitializer
  %v52 = icmp ult <4 x i32> %v40, %v51
  %v53 = and <4 x i1> %v41, %v52
  %v54 = extractelement <4 x i1> %v53, i32 0
  %v55 = extractelement <4 x i1> %v53, i32 1
  %v56 = extractelement <4 x i1> %v53, i32 2
  %v57 = extractelement <4 x i1> %v53, i32 3
  %v59 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v46, i1 %v54, float 0x0000000000000000)
  %v64 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v47, i1 %v55, float 0x0000000000000000)
  %v69 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v48, i1 %v56, float 0x0000000000000000)
  %v74 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v49, i1 %v57, float 0x0000000000000000)
  %v79 = fadd float %v37.lane0, %v59
  %v80 = fadd float %v37.lane1, %v64
  %v81 = fadd float %v37.lane2, %v69
  %v82 = fadd float %v37.lane3, %v74
  %v84 = sub i32 %v26, %v36
  %v85 = icmp ugt i32 %v84, 256
  %v86 = add i32 %v36, 256
  br i1 %v85, label %loop1, label %done2
done2:
  %v87.lane0 = phi float [ 0x0000000000000000, %entry ], [ %v79, %loop1 ]
  %v87.lane1 = phi float [ 0x0000000000000000, %entry ], [ %v80, %loop1 ]
  %v87.lane2 = phi float [ 0x0000000000000000, %entry ], [ %v81, %loop1 ]
  %v87.lane3 = phi float [ 0x0000000000000000, %entry ], [ %v82, %loop1 ]
  %v90 = fadd float %v87.lane0, %v87.lane2
  %v91 = fadd float %v87.lane1, %v87.lane3
  %v95 = fadd float %v90, %v91
  %v99 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v95, i32 1) #1
  %v101 = bitcast i32 %v99 to float
  %v103 = fadd float %v95, %v101
  %v107 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v103, i32 2) #1
  %v109 = bitcast i32 %v107 to float
  %v111 = fadd float %v103, %v109
  %v115 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v111, i32 4) #1
  %v117 = bitcast i32 %v115 to float
  %v119 = fadd float %v111, %v117
  %v123 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v119, i32 8) #1
  %v125 = bitcast i32 %v123 to float
  %v127 = fadd float %v119, %v125
  %v131 = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(float %v127, i32 16) #1
  %v133 = bitcast i32 %v131 to float
  %v135 = fadd float %v127, %v133
  %v136 = insertelement <1 x float> poison, float %v135, i32 0
  br i1 %v140, label %owner3, label %done4
owner3:
  %v141 = getelementptr i8, ptr addrspace(3) @shared_memory, i32 %v138
  store <1 x float> %v136, ptr addrspace(3) %v141, align 4
  br label %done4
done4:
  call void asm sideeffect "bar.sync 0;", "~{memory}"() #1
  %v142 = load <2 x float>, ptr addrspace(3) @shared_memory, align 8
  %v143 = shufflevector <2 x float> %v142, <2 x float> poison, <1 x i32> zeroinitializer
  %v144 = shufflevector <2 x float> %v142, <2 x float> poison, <1 x i32> <i32 1>
  %v145 = fadd <1 x float> %v143, %v144
  %v146 = extractelement <1 x float> %v145, i32 0
  %v147 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v148 = sext <1 x i32> %v147 to <1 x i64>
  %v149 = mul <1 x i64> %v148, splat (i64 4)
  %v150 = extractelement <1 x i64> %v149, i32 0
  %v151 = getelementptr i8, ptr addrspace(1) %p6, i64 %v150
  %v152 = insertelement <1 x i32> poison, i32 %v1, i32 0
  %v153 = insertelement <1 x i32> poison, i32 %p7, i32 0
  %v154 = icmp ult <1 x i32> %v152, %v153
  %v158 = extractelement <1 x i1> %v154, i32 0
  %v159 = and i1 %v158, %v157
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v151, i1 %v159, float %v146)
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
attributes #1 = { convergent nounwind }
