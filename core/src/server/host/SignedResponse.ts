/**
 * Holds a granted response of Node back until its receipt is signed, if the receipt covers the response. For every host whose
 * responses are Node's; a longer response than memory has room for leaves with the receipt that covers none.
 */
import type * as Effect from "effect/Effect"

import type { HeaderFields } from "../../wire/pontage/Dialect.ts"
import { type Granted, headersOf, type SoldResponse } from "../http/Decision.ts"
import * as ResponseSeal from "../http/ResponseSeal.ts"
import * as HeldResponse from "./HeldResponse.ts"

export type { SoldResponse }

/** Runs an effect of the decision. */
export type Run = <A>(effect: Effect.Effect<A>) => Promise<A>

/**
 * The headers of the receipt for a response whose whole body is known; `undefined` if the receipt covers no response. Never
 * rejects.
 */
export const headersFor = async (
  { receipt }: Pick<Granted, "receipt">,
  response: HeldResponse.NodeResponse,
  body: Uint8Array,
  run: Run
): Promise<HeaderFields | undefined> =>
  receipt &&
  run(
    receipt({
      status: response.statusCode,
      body,
      encoding: ResponseSeal.textOf(response.getHeader("content-encoding"))
    })
  ).catch(() => undefined)

/** The decision with the headers of a receipt that covers its response. */
export const withReceipt = (granted: Granted, receipt: HeaderFields | undefined): Granted => ({
  ...granted,
  headers: { ...granted.headers, ...receipt },
  headersFor: (status, header) => ({ ...headersOf(granted, status, header), ...receipt })
})

/** Holds the response from now on. Call it after `ResponseSeal.seal` and after everything that copies the response. */
export const hold = (response: HeldResponse.NodeResponse, granted: Pick<Granted, "receipt">, run: Run): void => {
  if (granted.receipt === undefined) return
  const release = async (held: HeldResponse.HeldResponse) => {
    const headers = await headersFor(granted, response, held.body(), run)
    if (headers !== undefined) ResponseSeal.amend(response, headers)
    held.release()
  }
  HeldResponse.hold(response, {
    ended: (held) => void release(held).catch(HeldResponse.breakOff(response, run)),
    overflowed: (held) => held.pass()
  })
}
