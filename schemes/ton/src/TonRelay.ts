/**
 * The message with which a relayer brings a payer's request to the payer's wallet, and what it costs at most. It always
 * bounces: what a wallet refuses comes back. And it deploys the wallet only where there is none: doing so twice costs.
 */
import type { Cell } from "@ton/core"

import type { TonAuthorization } from "./TonAuthorization.ts"
import * as TonMessage from "./TonMessage.ts"

/** What a payer's wallet needs for itself where it hands on a fixed amount, in nanotons. */
const walletGas = 10_000_000n
/** What one message of a relayer costs beside what is attached, at most, and what the external message costs, in nanotons. */
const messageCost = 3_000_000n
const baseCost = 15_000_000n

/**
 * What is attached to a payment, in nanotons.
 *
 * @category getters
 */
export const attachedTo = ({ request, value }: TonAuthorization, attachedTon: bigint): bigint =>
  request.mode === 64 ? attachedTon : value + walletGas

/**
 * The message to a payer's wallet.
 *
 * @category constructors
 */
export const messageFor = (authorization: TonAuthorization, attachedTon: bigint, isDeployed: boolean): Cell =>
  TonMessage.internal(
    authorization.payer,
    attachedTo(authorization, attachedTon),
    authorization.body,
    isDeployed ? undefined : authorization.init
  )

/**
 * The most that an external message costs which relays these payments, in nanotons.
 *
 * @category getters
 */
export const costOf = (authorizations: ReadonlyArray<TonAuthorization>, attachedTon: bigint): bigint =>
  authorizations.reduce((sum, one) => sum + attachedTo(one, attachedTon) + messageCost, baseCost)
