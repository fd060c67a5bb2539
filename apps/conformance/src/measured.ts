/**
 * A role as a process of its own, to be measured: `node measured.js <role> <options as JSON>` prints one line of JSON with
 * its URL, and lives until it is told to end.
 */
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/facilitator"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

import * as BuyerCrowd from "./buyers/BuyerCrowd.ts"
import * as PeerFacilitator from "./facilitators/PeerFacilitator.ts"
import { FacilitatorOptions } from "./RoleOptions.ts"
import * as MeasuredChannelShop from "./shops/MeasuredChannelShop.ts"
import * as MeasuredExpressShop from "./shops/MeasuredExpressShop.ts"
import * as MeasuredHonoShop from "./shops/MeasuredHonoShop.ts"
import { MeasuredShopOptions } from "./shops/MeasuredShopOptions.ts"

const roles = {
  facilitator: (json: unknown) => Effect.flatMap(decode(FacilitatorOptions)(json), PeerFacilitator.start),
  /** The same, with payment channels. */
  channelFacilitator: (json: unknown) =>
    Effect.flatMap(decode(FacilitatorOptions)(json), (options) =>
      PeerFacilitator.start(options, [(signer) => new BatchSettlementEvmScheme(signer)])
    ),
  channels: (json: unknown) =>
    Effect.flatMap(decode(MeasuredChannelShop.ChannelShopOptions)(json), MeasuredChannelShop.start),
  express: (json: unknown) => Effect.flatMap(decode(MeasuredShopOptions)(json), MeasuredExpressShop.start),
  hono: (json: unknown) => Effect.flatMap(decode(MeasuredShopOptions)(json), MeasuredHonoShop.start),
  crowd: (json: unknown) => Effect.flatMap(decode(BuyerCrowd.CrowdOptions)(json), BuyerCrowd.start)
}

const decode = Schema.decodeUnknownEffect
const isRole = Schema.is(Schema.Literals(["facilitator", "channelFacilitator", "channels", "express", "hono", "crowd"]))

const [role, options = "{}"] = process.argv.slice(2)

const program = Effect.gen(function* () {
  if (!isRole(role)) return yield* Effect.die(`${role} is none of ${Object.keys(roles).join(", ")}`)
  const { url } = yield* roles[role](JSON.parse(options))
  process.stdout.write(`${JSON.stringify({ url })}\n`)
  return yield* Effect.never
})

const ending = new AbortController()
process.once("SIGTERM", () => ending.abort())
const exit = await Effect.runPromiseExit(Effect.scoped(program), { signal: ending.signal })
if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  process.exitCode = 1
}
