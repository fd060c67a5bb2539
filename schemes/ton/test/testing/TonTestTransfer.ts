/**
 * Transfers as tests need them, signed and put together by `@ton/ton` alone: a payer signs a jetton transfer, a relayer
 * carries it to the payer's wallet.
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

/** What is signed. */
export interface Transfer {
  readonly payer: TonTestAccounts.TestAccount
  readonly to: Address
  readonly amount: bigint
  /** Where the rest of the TON goes. */
  readonly excessTo: Address
  readonly jetton: TestJetton.TestJetton
  readonly seqno: number
  readonly queryId?: bigint
  readonly validUntil: number
}

const transferOperation = 0x0f8a7ea5

/** The way in which a W5 has to send what it is asked for from outside. */
export const sendMode = SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS

/** What a jetton wallet is told. */
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

/** What the payer signs for somebody else to carry. */
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

/** The relayer's message that carries it; with the payer's state where its wallet is not deployed. */
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

/** 10,000 units of the plain jetton from the first payer to the payee, carried by the first relayer. */
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
