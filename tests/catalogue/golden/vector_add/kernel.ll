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
  %v27 = call { i32, i32, i32, i32 } asm sideeffect "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}"(ptr addrspace(1) %v10, i1 %v24, i32 0, i32 0, i32 0, i32 0)
  %v28 = extractvalue { i32, i32, i32, i32 } %v27, 0
  %v29 = extractvalue { i32, i32, i32, i32 } %v27, 1
  %v30 = extractvalue { i32, i32, i32, i32 } %v27, 2
  %v31 = extractvalue { i32, i32, i32, i32 } %v27, 3
  %v33 = bitcast i32 %v28 to float
  %v34 = bitcast i32 %v29 to float
  %v35 = bitcast i32 %v30 to float
  %v36 = bitcast i32 %v31 to float
  %v38.0 = insertelement <4 x float> poison, float %v33, i32 0
  %v38.1 = insertelement <4 x float> %v38.0, float %v34, i32 1
  %v38.2 = insertelement <4 x float> %v38.1, float %v35, i32 2
  %v38 = insertelement <4 x float> %v38.2, float %v36, i32 3
  %v39 = xor i1 %v24, true
  %v40 = and i1 %v18, %v39
  br i1 %v40, label %cut4, label %vectors5
cut4:
  %v41 = and i1 %v40, %v18
  %v43 = bitcast float %v33 to i32
  %v44 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v10, i1 %v41, i32 %v43)
  %v46 = bitcast i32 %v44 to float
  %v48 = getelementptr i8, ptr addrspace(1) %v10, i64 4
  %v49 = and i1 %v40, %v20
  %v51 = bitcast float %v34 to i32
  %v52 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v48, i1 %v49, i32 %v51)
  %v54 = bitcast i32 %v52 to float
  %v56 = getelementptr i8, ptr addrspace(1) %v10, i64 8
  %v57 = and i1 %v40, %v22
  %v59 = bitcast float %v35 to i32
  %v60 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v56, i1 %v57, i32 %v59)
  %v62 = bitcast i32 %v60 to float
  %v64 = getelementptr i8, ptr addrspace(1) %v10, i64 12
  %v65 = and i1 %v40, %v24
  %v67 = bitcast float %v36 to i32
  %v68 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v64, i1 %v65, i32 %v67)
  %v70 = bitcast i32 %v68 to float
  %v72.0 = insertelement <4 x float> poison, float %v46, i32 0
  %v72.1 = insertelement <4 x float> %v72.0, float %v54, i32 1
  %v72.2 = insertelement <4 x float> %v72.1, float %v62, i32 2
  %v72 = insertelement <4 x float> %v72.2, float %v70, i32 3
  br label %done6
vectors5:
  br label %done6
done6:
  %v73 = phi <4 x float> [ %v72, %cut4 ], [ %v38, %vectors5 ]
  br label %done3
done3:
  %v74 = phi <4 x float> [ %v26, %whole1 ], [ %v73, %done6 ]
  %v75 = sext i32 %v1 to i64
  %v76 = mul i64 %v75, 256
  %v77 = mul i64 %v76, 4
  %v78 = getelementptr i8, ptr addrspace(1) %p3, i64 %v77
  %v79 = mul i32 %v7, 4
  %v80 = sext i32 %v79 to i64
  %v81 = getelementptr i8, ptr addrspace(1) %v78, i64 %v80
  %v82 = sext i32 %v1 to i64
  %v83 = mul i64 %v82, 256
  %v84 = sext i32 %p4 to i64
  %v85 = sub i64 %v84, %v83
  %v86 = call i64 @llvm.smax.i64(i64 %v85, i64 0)
  %v87 = call i64 @llvm.smin.i64(i64 %v86, i64 256)
  %v88 = trunc i64 %v87 to i32
  %v89 = icmp slt i32 %v7, %v88
  %v90 = sub i32 %v88, 1
  %v91 = icmp slt i32 %v7, %v90
  %v92 = sub i32 %v88, 2
  %v93 = icmp slt i32 %v7, %v92
  %v94 = sub i32 %v88, 3
  %v95 = icmp slt i32 %v7, %v94
  %v96 = icmp sge i32 %v88, 256
  br i1 %v96, label %whole7, label %edge8
whole7:
  %v97 = load <4 x float>, ptr addrspace(1) %v81, align 16, !invariant.load !0
  br label %done9
edge8:
  %v98 = call { i32, i32, i32, i32 } asm sideeffect "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,b,0,1,2,3,~{memory}"(ptr addrspace(1) %v81, i1 %v95, i32 0, i32 0, i32 0, i32 0)
  %v99 = extractvalue { i32, i32, i32, i32 } %v98, 0
  %v100 = extractvalue { i32, i32, i32, i32 } %v98, 1
  %v101 = extractvalue { i32, i32, i32, i32 } %v98, 2
  %v102 = extractvalue { i32, i32, i32, i32 } %v98, 3
  %v104 = bitcast i32 %v99 to float
  %v105 = bitcast i32 %v100 to float
  %v106 = bitcast i32 %v101 to float
  %v107 = bitcast i32 %v102 to float
  %v109.0 = insertelement <4 x float> poison, float %v104, i32 0
  %v109.1 = insertelement <4 x float> %v109.0, float %v105, i32 1
  %v109.2 = insertelement <4 x float> %v109.1, float %v106, i32 2
  %v109 = insertelement <4 x float> %v109.2, float %v107, i32 3
  %v110 = xor i1 %v95, true
  %v111 = and i1 %v89, %v110
  br i1 %v111, label %cut10, label %vectors11
cut10:
  %v112 = and i1 %v111, %v89
  %v114 = bitcast float %v104 to i32
  %v115 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v81, i1 %v112, i32 %v114)
  %v117 = bitcast i32 %v115 to float
  %v119 = getelementptr i8, ptr addrspace(1) %v81, i64 4
  %v120 = and i1 %v111, %v91
  %v122 = bitcast float %v105 to i32
  %v123 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v119, i1 %v120, i32 %v122)
  %v125 = bitcast i32 %v123 to float
  %v127 = getelementptr i8, ptr addrspace(1) %v81, i64 8
  %v128 = and i1 %v111, %v93
  %v130 = bitcast float %v106 to i32
  %v131 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v127, i1 %v128, i32 %v130)
  %v133 = bitcast i32 %v131 to float
  %v135 = getelementptr i8, ptr addrspace(1) %v81, i64 12
  %v136 = and i1 %v111, %v95
  %v138 = bitcast float %v107 to i32
  %v139 = call i32 asm sideeffect "@$2 ld.global.nc.b32 $0, [$1];", "=r,l,b,0,~{memory}"(ptr addrspace(1) %v135, i1 %v136, i32 %v138)
  %v141 = bitcast i32 %v139 to float
  %v143.0 = insertelement <4 x float> poison, float %v117, i32 0
  %v143.1 = insertelement <4 x float> %v143.0, float %v125, i32 1
  %v143.2 = insertelement <4 x float> %v143.1, float %v133, i32 2
  %v143 = insertelement <4 x float> %v143.2, float %v141, i32 3
  br label %done12
vectors11:
  br label %done12
done12:
  %v144 = phi <4 x float> [ %v143, %cut10 ], [ %v109, %vectors11 ]
  br label %done9
done9:
  %v145 = phi <4 x float> [ %v97, %whole7 ], [ %v144, %done12 ]
  %v146 = fadd <4 x float> %v74, %v145
  %v147 = sext i32 %v1 to i64
  %v148 = mul i64 %v147, 256
  %v149 = mul i64 %v148, 4
  %v150 = getelementptr i8, ptr addrspace(1) %p6, i64 %v149
  %v151 = mul i32 %v7, 4
  %v152 = sext i32 %v151 to i64
  %v153 = getelementptr i8, ptr addrspace(1) %v150, i64 %v152
  %v154 = sext i32 %v1 to i64
  %v155 = mul i64 %v154, 256
  %v156 = sext i32 %p7 to i64
  %v157 = sub i64 %v156, %v155
  %v158 = call i64 @llvm.smax.i64(i64 %v157, i64 0)
  %v159 = call i64 @llvm.smin.i64(i64 %v158, i64 256)
  %v160 = trunc i64 %v159 to i32
  %v161 = icmp slt i32 %v7, %v160
  %v162 = sub i32 %v160, 1
  %v163 = icmp slt i32 %v7, %v162
  %v164 = sub i32 %v160, 2
  %v165 = icmp slt i32 %v7, %v164
  %v166 = sub i32 %v160, 3
  %v167 = icmp slt i32 %v7, %v166
  %v168 = icmp sge i32 %v160, 256
  br i1 %v168, label %whole13, label %edge14
whole13:
  store <4 x float> %v146, ptr addrspace(1) %v153, align 16
  br label %done15
edge14:
  %v169 = extractelement <4 x float> %v146, i32 0
  %v170 = bitcast float %v169 to i32
  %v171 = extractelement <4 x float> %v146, i32 1
  %v172 = bitcast float %v171 to i32
  %v173 = extractelement <4 x float> %v146, i32 2
  %v174 = bitcast float %v173 to i32
  %v175 = extractelement <4 x float> %v146, i32 3
  %v176 = bitcast float %v175 to i32
  call void asm sideeffect "@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r,~{memory}"(ptr addrspace(1) %v153, i1 %v167, i32 %v170, i32 %v172, i32 %v174, i32 %v176)
  %v177 = xor i1 %v167, true
  %v178 = and i1 %v161, %v177
  br i1 %v178, label %cut16, label %done17
cut16:
  %v179 = and i1 %v178, %v161
  %v181 = extractelement <4 x float> %v146, i32 0
  %v182 = bitcast float %v181 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v153, i1 %v179, i32 %v182)
  %v183 = and i1 %v178, %v163
  %v184 = getelementptr i8, ptr addrspace(1) %v153, i64 4
  %v186 = extractelement <4 x float> %v146, i32 1
  %v187 = bitcast float %v186 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v184, i1 %v183, i32 %v187)
  %v188 = and i1 %v178, %v165
  %v189 = getelementptr i8, ptr addrspace(1) %v153, i64 8
  %v191 = extractelement <4 x float> %v146, i32 2
  %v192 = bitcast float %v191 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v189, i1 %v188, i32 %v192)
  %v193 = and i1 %v178, %v167
  %v194 = getelementptr i8, ptr addrspace(1) %v153, i64 12
  %v196 = extractelement <4 x float> %v146, i32 3
  %v197 = bitcast float %v196 to i32
  call void asm sideeffect "@$1 st.global.b32 [$0], $2;", "l,b,r,~{memory}"(ptr addrspace(1) %v194, i1 %v193, i32 %v197)
  br label %done17
done17:
  br label %done15
done15:
  ret void
}
attributes #0 = { nounwind "nvvm.maxntid"="64" }
