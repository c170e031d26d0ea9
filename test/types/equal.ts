/** Compiles only when both types are the same. */
export function same<A, B>(..._proof: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : [never]): void {}
