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
  %v11 = sext i32 %p1 to i64
  %v12 = sub i64 %v11, %v3
  %v13 = call i64 @llvm.smax.i64(i64 %v12, i64 0)
  %v14 = call i64 @llvm.smin.i64(i64 %v13, i64 256)
  %v15 = trunc i64 %v14 to i32
  %v16 = icmp slt i32 %v7, %v15
  %v17 = sub i32 %v15, 1
  %v18 = icmp slt i32 %v7, %v17
  %v19 = sub i32 %v15, 2
  %v20 = icmp slt i32 %v7, %v19
  %v21 = sub i32 %v15, 3
  %v22 = icmp slt i32 %v7, %v21
  %v23 = icmp sge i32 %v15, 256
  br i1 %v23, label %whole1, label %edge2
whole1:
  %v24 = load <4 x float>, ptr addrspace(1) %v10, align 16, !invariant.load !0
  br label %done3
edge2:
  %v26 = call { float, float, float, float } asm sideeffect "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}"(ptr addrspace(1) %v10, i1 %v22, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000)
  %v27 = extractvalue { float, float, float, float } %v26, 0
  %v28 = extractvalue { float, float, float, float } %v26, 1
  %v29 = extractvalue { float, float, float, float } %v26, 2
  %v30 = extractvalue { float, float, float, float } %v26, 3
  %v37.0 = insertelement <4 x float> poison, float %v27, i32 0
  %v37.1 = insertelement <4 x float> %v37.0, float %v28, i32 1
  %v37.2 = insertelement <4 x float> %v37.1, float %v29, i32 2
  %v37 = insertelement <4 x float> %v37.2, float %v30, i32 3
  %v38 = xor i1 %v22, true
  %v39 = and i1 %v16, %v38
  br i1 %v39, label %cut4, label %vectors5
cut4:
  %v40 = and i1 %v39, %v16
  %v43 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v10, i1 %v40, float %v27)
  %v47 = getelementptr i8, ptr addrspace(1) %v10, i64 4
  %v48 = and i1 %v39, %v18
  %v51 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v47, i1 %v48, float %v28)
  %v55 = getelementptr i8, ptr addrspace(1) %v10, i64 8
  %v56 = and i1 %v39, %v20
  %v59 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v55, i1 %v56, float %v29)
  %v63 = getelementptr i8, ptr addrspace(1) %v10, i64 12
  %v64 = and i1 %v39, %v22
  %v67 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v63, i1 %v64, float %v30)
  %v71.0 = insertelement <4 x float> poison, float %v43, i32 0
  %v71.1 = insertelement <4 x float> %v71.0, float %v51, i32 1
  %v71.2 = insertelement <4 x float> %v71.1, float %v59, i32 2
  %v71 = insertelement <4 x float> %v71.2, float %v67, i32 3
  br label %done6
vectors5:
  br label %done6
done6:
  %v72 = phi <4 x float> [ %v71, %cut4 ], [ %v37, %vectors5 ]
  br label %done3
done3:
  %v73 = phi <4 x float> [ %v24, %whole1 ], [ %v72, %done6 ]
  %v74 = sext i32 %v1 to i64
  %v75 = mul i64 %v74, 256
  %v76 = mul i64 %v75, 4
  %v77 = getelementptr i8, ptr addrspace(1) %p3, i64 %v76
  %v78 = mul i32 %v7, 4
  %v79 = sext i32 %v78 to i64
  %v80 = getelementptr i8, ptr addrspace(1) %v77, i64 %v79
  %v81 = sext i32 %p4 to i64
  %v82 = sub i64 %v81, %v75
  %v83 = call i64 @llvm.smax.i64(i64 %v82, i64 0)
  %v84 = call i64 @llvm.smin.i64(i64 %v83, i64 256)
  %v85 = trunc i64 %v84 to i32
  %v86 = icmp slt i32 %v7, %v85
  %v87 = sub i32 %v85, 1
  %v88 = icmp slt i32 %v7, %v87
  %v89 = sub i32 %v85, 2
  %v90 = icmp slt i32 %v7, %v89
  %v91 = sub i32 %v85, 3
  %v92 = icmp slt i32 %v7, %v91
  %v93 = icmp sge i32 %v85, 256
  br i1 %v93, label %whole7, label %edge8
whole7:
  %v94 = load <4 x float>, ptr addrspace(1) %v80, align 16, !invariant.load !0
  br label %done9
edge8:
  %v96 = call { float, float, float, float } asm sideeffect "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}"(ptr addrspace(1) %v80, i1 %v92, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000)
  %v97 = extractvalue { float, float, float, float } %v96, 0
  %v98 = extractvalue { float, float, float, float } %v96, 1
  %v99 = extractvalue { float, float, float, float } %v96, 2
  %v100 = extractvalue { float, float, float, float } %v96, 3
  %v107.0 = insertelement <4 x float> poison, float %v97, i32 0
  %v107.1 = insertelement <4 x float> %v107.0, float %v98, i32 1
  %v107.2 = insertelement <4 x float> %v107.1, float %v99, i32 2
  %v107 = insertelement <4 x float> %v107.2, float %v100, i32 3
  %v108 = xor i1 %v92, true
  %v109 = and i1 %v86, %v108
  br i1 %v109, label %cut10, label %vectors11
cut10:
  %v110 = and i1 %v109, %v86
  %v113 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v80, i1 %v110, float %v97)
  %v117 = getelementptr i8, ptr addrspace(1) %v80, i64 4
  %v118 = and i1 %v109, %v88
  %v121 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v117, i1 %v118, float %v98)
  %v125 = getelementptr i8, ptr addrspace(1) %v80, i64 8
  %v126 = and i1 %v109, %v90
  %v129 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v125, i1 %v126, float %v99)
  %v133 = getelementptr i8, ptr addrspace(1) %v80, i64 12
  %v134 = and i1 %v109, %v92
  %v137 = call float asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v133, i1 %v134, float %v100)
  %v141.0 = insertelement <4 x float> poison, float %v113, i32 0
  %v141.1 = insertelement <4 x float> %v141.0, float %v121, i32 1
  %v141.2 = insertelement <4 x float> %v141.1, float %v129, i32 2
  %v141 = insertelement <4 x float> %v141.2, float %v137, i32 3
  br label %done12
vectors11:
  br label %done12
done12:
  %v142 = phi <4 x float> [ %v141, %cut10 ], [ %v107, %vectors11 ]
  br label %done9
done9:
  %v143 = phi <4 x float> [ %v94, %whole7 ], [ %v142, %done12 ]
  %v144 = fadd <4 x float> %v73, %v143
  %v145 = sext i32 %v1 to i64
  %v146 = mul i64 %v145, 256
  %v147 = mul i64 %v146, 4
  %v148 = getelementptr i8, ptr addrspace(1) %p6, i64 %v147
  %v149 = mul i32 %v7, 4
  %v150 = sext i32 %v149 to i64
  %v151 = getelementptr i8, ptr addrspace(1) %v148, i64 %v150
  %v152 = sext i32 %p7 to i64
  %v153 = sub i64 %v152, %v146
  %v154 = call i64 @llvm.smax.i64(i64 %v153, i64 0)
  %v155 = call i64 @llvm.smin.i64(i64 %v154, i64 256)
  %v156 = trunc i64 %v155 to i32
  %v157 = icmp slt i32 %v7, %v156
  %v158 = sub i32 %v156, 1
  %v159 = icmp slt i32 %v7, %v158
  %v160 = sub i32 %v156, 2
  %v161 = icmp slt i32 %v7, %v160
  %v162 = sub i32 %v156, 3
  %v163 = icmp slt i32 %v7, %v162
  %v164 = icmp sge i32 %v156, 256
  br i1 %v164, label %whole13, label %edge14
whole13:
  store <4 x float> %v144, ptr addrspace(1) %v151, align 16
  br label %done15
edge14:
  %v165 = extractelement <4 x float> %v144, i32 0
  %v167 = extractelement <4 x float> %v144, i32 1
  %v169 = extractelement <4 x float> %v144, i32 2
  %v171 = extractelement <4 x float> %v144, i32 3
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v151, i1 %v163, float %v165, float %v167, float %v169, float %v171)
  %v173 = xor i1 %v163, true
  %v174 = and i1 %v157, %v173
  br i1 %v174, label %cut16, label %done17
cut16:
  %v175 = and i1 %v174, %v157
  %v177 = extractelement <4 x float> %v144, i32 0
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v151, i1 %v175, float %v177)
  %v179 = and i1 %v174, %v159
  %v180 = getelementptr i8, ptr addrspace(1) %v151, i64 4
  %v182 = extractelement <4 x float> %v144, i32 1
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v180, i1 %v179, float %v182)
  %v184 = and i1 %v174, %v161
  %v185 = getelementptr i8, ptr addrspace(1) %v151, i64 8
  %v187 = extractelement <4 x float> %v144, i32 2
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v185, i1 %v184, float %v187)
  %v189 = and i1 %v174, %v163
  %v190 = getelementptr i8, ptr addrspace(1) %v151, i64 12
  %v192 = extractelement <4 x float> %v144, i32 3
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v190, i1 %v189, float %v192)
  br label %done17
done17:
  br label %done15
done15:
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
