/**
 * The message by which a relayer sends a payer's request to the payer's wallet, and its maximum cost. It is bounceable: the TON
 * of a refused message comes back. It holds the wallet's state init only where the wallet is not deployed, to save its fee.
 */
import type { Asset } from "@pontage/core"
import type { Cell } from "@ton/core"

import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import type { TonTariff } from "./TonTariff.ts"

/**
 * A message to a payer's wallet, and the most that it costs its relayer, in nanotons: the attached TON, and the fees for its
 * bits and cells.
 */
export interface TonRelay {
  readonly message: Cell
  readonly cost: bigint
}

/** The message of a payment. */
export const make = (
  authorization: TonAuthorization & { readonly token: Asset },
  isDeployed: boolean,
  tariff: TonTariff
): TonRelay => {
  const { body, init, payer, token } = authorization
  const attached = tariff.attached(authorization, token)
  const message = TonMessage.internal(payer, attached, body, isDeployed ? undefined : init)
  return { message, cost: attached + tariff.message(message) }
}

/** A payer's own external message, a bag of cells in base64. */
export const externalOf = ({ body, init, payer }: TonAuthorization, isDeployed: boolean): string =>
  TonBoc.toBase64(TonMessage.external(payer, body, isDeployed ? undefined : init))

/** The most that an external message with these messages costs, in nanotons. */
export const costOf = (relays: ReadonlyArray<TonRelay>, { base }: TonTariff): bigint =>
  relays.reduce((sum, { cost }) => sum + cost, base)
