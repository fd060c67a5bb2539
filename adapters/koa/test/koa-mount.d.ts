/** The part of `koa-mount` that the tests use; it ships no types. */
declare module "koa-mount" {
  import type Koa from "koa"

  export default function mount(prefix: string, app: Pick<Koa, "middleware">): Koa.Middleware
}
