declare module "express4" {
  import type express from "express"

  /** Both versions have the type of the newer one; the tests use only members that both have. */
  const express4: typeof express
  export default express4
}
