declare module "koa2" {
  import type Koa from "koa"

  /** Both versions have the type of the newer one; the tests use only members that both have. */
  const koa2: typeof Koa
  export default koa2
}
