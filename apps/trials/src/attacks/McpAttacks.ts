/**
 * Attacks on a shop of MCP tools, by requests as any client of the protocol may write them.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import type { Offer } from "./hostile/HostileWallet.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

const Called = Schema.fromJsonString(
  Schema.Struct({
    result: Schema.Struct({
      isError: Schema.optionalKey(Schema.Boolean),
      content: Schema.Array(Schema.Struct({ text: Schema.String }))
    })
  })
)
const decodeCalled = Schema.decodeUnknownSync(Called)

interface Call {
  readonly name: string
  readonly arguments?: Readonly<Record<string, unknown>>
}

/** Calls a tool, and returns the text of its result. */
const callTool = Effect.fnUntraced(function* (url: string, call: Call, payment?: object) {
  const params = { ...call, ...(payment !== undefined && { _meta: { "x402/payment": payment } }) }
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params }
  const accept = { accept: "application/json, text/event-stream" }
  const { text } = yield* HostileCall.send(url, HostileCall.posting(body, accept))
  const { result } = decodeCalled(text)
  return { isError: result.isError === true, text: result.content.map((part) => part.text).join() }
})

/** Calls a tool without a payment, and signs its offer as an honest client does. */
const signedFor = Effect.fnUntraced(function* (stage: AttackStage, url: string, call: Call) {
  const unpaid = yield* callTool(url, call)
  if (!unpaid.isError) return { unpaid, wallet: undefined, payment: {} }
  const { accepts }: { readonly accepts: ReadonlyArray<Offer> } = JSON.parse(unpaid.text)
  const [accepted] = accepts
  if (accepted === undefined) return yield* Effect.die(new Error(`nothing is offered: ${unpaid.text}`))
  const wallet = yield* stage.wallet(BigInt(accepted.amount))
  const payload = yield* Effect.promise(() => wallet.sign(accepted, String(accepted.extra["challenge"])))
  return { unpaid, wallet, payment: { x402Version: 2, accepted, payload } }
})

const isGoods = ({ isError, text }: { readonly isError: boolean; readonly text: string }) =>
  !isError && text.includes("goods")

const openTools = Effect.fnUntraced(function* (stage: AttackStage) {
  const facilitator = yield* stage.usualFacilitator
  return yield* stage.tools(facilitator.url)
})

const varyingDefault: Attack = {
  name: "varying-default",
  what: "a tool is bought whose schema gives another default at every call, and its payment is shown with other arguments",
  expected: "the call that was paid for is served, the other one is refused",
  targets: ["pontage"],
  mutation: [{ module: "adapters/mcp/src/SentCall", piece: "sent.has(extra)", instead: "sent.has(null)" }],
  run: Effect.fnUntraced(function* (stage) {
    const { url } = yield* openTools(stage)
    const call = { name: "draw", arguments: { what: "a cat" } }
    const { payment, wallet } = yield* signedFor(stage, url, call)
    const other = yield* callTool(url, { name: "draw", arguments: { what: "a horse" } }, payment)
    const own = yield* callTool(url, call, payment)
    const transfers = wallet === undefined ? 0 : (yield* stage.chain.spent(wallet.address)).length
    return {
      held: isGoods(own) && own.text.includes("a cat") && other.text.includes("binding_mismatch") && transfers === 1,
      seen: `its own call ${own.text.slice(0, 60)}, the other one ${isGoods(other) ? "served" : "refused"}; ${transfers} transfers`,
      attackerCost: "10000 units",
      targetCost: isGoods(own) ? "nothing" : "a sale"
    }
  })
}

const swappedHandler: Attack = {
  name: "swapped-handler",
  what: "a tool whose handler was replaced after it was registered is called without a payment",
  expected: "a payment is asked for, and opens the new handler",
  targets: ["pontage"],
  mutation: [
    { module: "adapters/mcp/src/ToolShop", piece: "current = guard(given)", instead: "current = given" },
    { module: "adapters/mcp/src/SentCall", piece: "!gated.has(extra)", instead: "gated.has(null)" }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { url } = yield* openTools(stage)
    const call = { name: "swapped" }
    const { payment, unpaid } = yield* signedFor(stage, url, call)
    const paid = yield* callTool(url, call, payment)
    const isFree = isGoods(unpaid)
    return {
      held: !isFree && isGoods(paid) && paid.text.includes("second"),
      seen: `unpaid ${isFree ? "served" : "refused"}, paid ${paid.text.slice(0, 60)}`,
      attackerCost: "nothing",
      targetCost: isFree ? "the goods, for everybody" : "nothing"
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [varyingDefault, swappedHandler]
