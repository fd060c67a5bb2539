/** A channel of the ledger, found by the name of a draw on it. It exists for those callers alone that may draw on it. */
import * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeDraws } from "../../scheme/SchemeDraws.ts"
import { CurrentCaller } from "../Caller.ts"
import type { Standing } from "../channel/Channel.ts"
import type { ChannelStore } from "../channel/ChannelStore.ts"
import * as DrawId from "../channel/DrawId.ts"
import type { IntakeContext } from "./PaymentIntake.ts"

/** The services that the search needs. */
export interface KnownChannels {
  readonly intake: Pick<IntakeContext, "registry">
  readonly ledger: Pick<ChannelStore["Service"], "find">
}

/** The ledger's record, and the scheme's draws; `undefined` while the channel's network is not connected. */
export interface KnownChannel {
  readonly standing: Standing
  readonly draws: SchemeDraws | undefined
}

/** Finds the channel of a draw; `undefined` too where the current caller may not draw on it. */
export const find = Effect.fnUntraced(function* (
  { intake: { registry }, ledger }: KnownChannels,
  paymentId: string
): Effect.fn.Return<KnownChannel | undefined, FacilitatorUnavailable> {
  const channelId = DrawId.channelOf(paymentId)
  const standing = channelId === undefined ? undefined : yield* ledger.find(channelId)
  if (standing === undefined) return undefined
  const drawing = registry.schemes.find(
    ({ channels, network }) => network === standing.network && channels?.draws !== undefined
  )
  const draws = drawing?.channels?.draws
  if (drawing === undefined || draws === undefined) return { standing, draws: undefined }
  const { mayDraw, name } = yield* CurrentCaller
  if (draws.isFor?.(name) === false) return undefined
  const { asset, payTo } = draws.parties(standing.config)
  const isTheirs = mayDraw?.({ scheme: drawing.scheme.name, network: standing.network, payTo, asset }) ?? true
  return isTheirs ? { standing, draws } : undefined
})
