/**
 * Transfers for tests, signed and made by `@ton/ton` only: a payer signs a jetton transfer, a relayer sends it to the payer's
 * wallet.
 */
import {
  type Address,
  beginCell,
  type Cell,
  external,
  internal,
  type MessageRelaxed,
  SendMode,
  storeMessage,
  type Transaction
} from "@ton/core"
import * as Effect from "effect/Effect"

import { type TestJetton, type TonTestAccounts, TonTestChain } from "../../src/testing/index.ts"

/** Fields of a signed transfer. */
export interface Transfer {
  readonly payer: TonTestAccounts.TestAccount
  readonly to: Address
  readonly amount: bigint
  /** Destination of the unused TON. */
  readonly excessTo: Address
  readonly jetton: TestJetton.TestJetton
  readonly seqno: number
  readonly queryId?: bigint
  readonly validUntil: number
}

const transferOperation = 0x0f8a7ea5

/** The send mode that a W5 demands of a message from outside. */
export const sendMode = SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS

/** The body of a transfer, for the payer's jetton wallet. */
export const body = ({
  amount,
  excessTo,
  queryId = 7n,
  to
}: Pick<Transfer, "amount" | "excessTo" | "queryId" | "to">): Cell =>
  beginCell()
    .storeUint(transferOperation, 32)
    .storeUint(queryId, 64)
    .storeCoins(amount)
    .storeAddress(to)
    .storeAddress(excessTo)
    .storeMaybeRef(null)
    .storeCoins(0)
    .storeMaybeRef(null)
    .endCell()

/** The request that the payer signs for a relayer to send. */
export const signed = (transfer: Transfer): Cell =>
  transfer.payer.wallet.createTransfer({
    authType: "internal",
    seqno: transfer.seqno,
    secretKey: transfer.payer.secretKey,
    timeout: transfer.validUntil,
    sendMode: SendMode.CARRY_ALL_REMAINING_INCOMING_VALUE,
    messages: [
      internal({
        to: transfer.jetton.walletOf(transfer.payer.address),
        value: 0n,
        bounce: true,
        body: body(transfer)
      })
    ]
  })

/** The relayer's message with the request, and with the payer's state init where its wallet is not deployed. */
export const carried = (transfer: Transfer, nanoton: bigint, isDeployed = true): MessageRelaxed =>
  internal({
    to: transfer.payer.address,
    value: nanoton,
    bounce: true,
    body: signed(transfer),
    ...(isDeployed ? {} : { init: transfer.payer.wallet.init })
  })

/** A message from outside to a wallet, as bytes. */
export const envelope = (to: Address, body: Cell): Buffer =>
  beginCell()
    .store(storeMessage(external({ to, body })))
    .endCell()
    .toBoc()

/** 10,000 units of the plain jetton from the first payer to the payee, sent by the first relayer. */
export const usual = Effect.gen(function* () {
  const { accounts, jetton, time } = yield* TonTestChain.TonTestChain
  const [payer] = accounts.payers
  const [relayer] = accounts.relayers
  const validUntil = (yield* time) + 60
  return { payer, to: accounts.payee.address, amount: 10_000n, excessTo: relayer.address, jetton, seqno: 0, validUntil }
})

/** The exit code of a transaction's contract. */
export const exitCode = ({ description }: Transaction): number | undefined =>
  description.type === "generic" && description.computePhase.type === "vm"
    ? description.computePhase.exitCode
    : undefined
