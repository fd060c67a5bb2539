/** Laws about mistakes in options and routes, which a host refuses before its first request. */
import * as Effect from "effect/Effect"

import type { RouteConfig } from "../../server/route/RouteConfig.ts"
import type { SellerOptions } from "../../server/Seller.ts"
import { LawBroken } from "../Law.ts"
import * as HostMarket from "./HostMarket.ts"
import { demand, type HostLaw, type HostSubject, Subject, type TrialParts } from "./HostTrial.ts"

const { terms } = HostMarket

const routes: TrialParts["routes"] = [{ method: "GET", path: "/report", handler: () => ({ body: "goods" }) }]

/** The message of the mistake with which an application does not start. */
const mistakeOf = async (
  { open }: HostSubject,
  parts: { readonly shop?: object; readonly config?: object }
): Promise<string> => {
  // The mistakes are those of callers without types.
  const shop = { ...HostMarket.open().shop, ...parts.shop } as SellerOptions
  const config = { ...terms, ...parts.config } as RouteConfig
  try {
    const application = await open({ shop, sold: { "GET /report": config }, routes })
    await application.close()
    return "it started"
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const refuses = (name: string, parts: Parameters<typeof mistakeOf>[1], expected: RegExp): HostLaw => ({
  name: `${name} is refused at start`,
  effect: Effect.flatMap(Subject, (subject) =>
    Effect.tryPromise({
      try: async () => {
        const message = await mistakeOf(subject, parts)
        demand(`expected a message like ${expected}, got: ${message}`, expected.test(message))
      },
      catch: (error) => (error instanceof LawBroken ? error : new LawBroken({ message: String(error) }))
    })
  )
})

/** Laws of every host. */
export const laws: ReadonlyArray<HostLaw> = [
  refuses("an unknown option", { shop: { orgin: "x" } }, /orgin: unknown key; did you mean origin\?/),
  refuses("an option of another type", { shop: { secret: 1 } }, /secret: expected /),
  refuses("a price that is none", { config: { price: "1" } }, /price/),
  refuses("an unknown key of a route", { config: { caches: "public" } }, /caches: unknown key; did you mean cache\?/)
]

/** Laws of a host that keeps no responses. */
export const lawsWithoutRepeats: ReadonlyArray<HostLaw> = [
  refuses("a route whose responses shall come again", { config: { repeat: "same" } }, /this host keeps no responses/)
]
