/** Forms of a shop, and the handlers that they are sent to by POST. */
import type { Router } from "@koa/router"
import type { Context } from "koa"

/** The orders that came to a handler, in their order. */
export interface FormHandlers {
  readonly orders: Array<{ readonly type: string; readonly body: Buffer }>
  /** Whether `/flaky` fails. */
  isFailing: boolean
}

/** The path of a form that is sent to this path. */
export const formAt = (action: string, encoding: "urlencoded" | "multipart" | "plain" = "urlencoded") =>
  `/form-of${action}?as=${encoding}`

const encodings: Readonly<Record<string, string>> = {
  urlencoded: "application/x-www-form-urlencoded",
  multipart: "multipart/form-data",
  plain: "text/plain"
}

/** The form's page, at any origin: its action is absolute. */
export const html = (action: string, encoding: string): string =>
  `<!doctype html><html lang="en"><title>Form</title><form method="post" enctype="${encodings[encoding] ?? ""}" action="${action}">` +
  `<input name="name" aria-label="Name"><textarea name="note" aria-label="Note"></textarea>` +
  `<input type="file" name="file" aria-label="File"><button>Order</button></form></html>`

const bodyOf = async ({ req }: Context): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of req) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

/** The fields by the platform's own parser; a file as its name, length and text. */
const fieldsOf = async (type: string, body: Buffer): Promise<Readonly<Record<string, unknown>>> => {
  const form = await new Response(new Uint8Array(body), { headers: { "content-type": type } }).formData()
  const entries = [...form].map(async ([name, value]) => [
    name,
    typeof value === "string" ? value : [value.name, value.size, (await value.text()).slice(0, 40)]
  ])
  return Object.fromEntries(await Promise.all(entries))
}

/** Adds the routes. */
export const add = (router: Router, handlers: FormHandlers): Router => {
  const { orders } = handlers
  const taken = async (context: Context): Promise<Readonly<Record<string, unknown>>> => {
    const order = { type: context.get("content-type"), body: await bodyOf(context) }
    orders.push(order)
    return order.type.startsWith("text/plain") ? { text: order.body.toString() } : fieldsOf(order.type, order.body)
  }
  router.get("/form-of{/*path}", (context) => {
    context.type = "html"
    context.body = html(context.path.replace("/form-of", ""), String(context.query["as"]))
  })
  router.post("/order", async (context) => {
    context.body = { ordered: await taken(context) }
  })
  router.post("/print", async (context) => {
    context.body = { printed: await taken(context) }
  })
  router.post("/flaky/:name", async (context) => {
    const order = await taken(context)
    if (handlers.isFailing) return context.throw(500, "the handler fails, as the test asked")
    context.body = { delivered: order }
  })
  router.post("/invoice", async (context) => {
    const { name } = await taken(context)
    context.attachment("invoice.csv")
    context.type = "text/csv"
    context.body = `name\n${String(name)}\n`
  })
  router.post("/thanks", async (context) => {
    await taken(context)
    context.status = 303
    context.redirect("/thank-you?order=1")
  })
  router.get("/thank-you", (context) => {
    context.body = "Thank you."
  })
  router.post("/strict", async (context) => {
    const { name } = await taken(context)
    context.status = name === "right" ? 200 : 422
    context.body = name === "right" ? "ordered" : "The name must be: right"
  })
  return router
}
