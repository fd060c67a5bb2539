/**
 * Random programs for a chain: transactions good and bad by several accounts, blocks, branches that are given up, and questions.
 * All of it follows from the seed.
 */
import { Eip3009, type EvmAddress, EvmHex, exactEvm } from "@pontage/evm"
import type { EvmTestAccounts } from "@pontage/evm/testing"
import { DollarToken } from "@pontage/evm/testing"
import { encodeFunctionData, type Hex } from "viem"

import { cancellationDigest } from "../src/simulation/evm/model/EvmModelToken.ts"
import * as GasMeter from "../src/simulation/evm/model/GasMeter.ts"
import type { TrialRandom } from "../src/world/TrialRandom.ts"
import { addressOf, type PairBeginning } from "./EvmModelPair.ts"

const gwei = 1_000_000_000n

/** The program's memory of its own steps. */
export interface ProgramMemory {
  /** Authorizations that were shown to the chain, so that they can be shown again. */
  readonly authorizations: Array<{ readonly terms: Eip3009.TransferWithAuthorization; readonly signature: EvmHex.Hex }>
  /** Signed bytes that were sent, so that they can be sent again. */
  readonly sent: Array<EvmHex.Hex>
  nonces: number
}

export const remember = (): ProgramMemory => ({ authorizations: [], sent: [], nonces: 0 })

/** Draws the parts of a program. `now` is the time of the newest block. */
export const make = (beginning: PairBeginning, luck: TrialRandom, memory: ProgramMemory) => {
  const { accounts } = beginning.chain
  const { crypto, token } = beginning
  const localOf = (account: EvmTestAccounts.TestAccount) => exactEvm.localSigner(account.privateKey, crypto)
  const sign = (account: EvmTestAccounts.TestAccount, digest: Uint8Array): EvmHex.Hex => {
    const bytes = crypto.sign(digest, EvmHex.toBytes(account.privateKey)) ?? new Uint8Array(65)
    return `${EvmHex.fromBytes(bytes.subarray(0, 64))}${bytes[64] === 0 ? "1b" : "1c"}`
  }

  const fresh = (
    now: bigint
  ): { readonly terms: Eip3009.TransferWithAuthorization; readonly signature: EvmHex.Hex } => {
    const payer = luck.pick(accounts.payers)
    const terms: Eip3009.TransferWithAuthorization = {
      from: addressOf(payer.address),
      to: addressOf(luck.perMille(850) ? accounts.payee.address : luck.pick(accounts.payers).address),
      value: luck.perMille(80) ? 2_000_000_000n : luck.perMille(60) ? 0n : BigInt(luck.between(1, 400_000_000)),
      validAfter: luck.perMille(60) ? now + 1_000n : 0n,
      validBefore: luck.perMille(80) ? now - 5n : now + 100_000n,
      nonce: `0x${EvmHex.toWord(BigInt(memory.nonces++) * 1_000_003n + 7n)}`
    }
    const signer = luck.perMille(60) ? accounts.stranger : payer
    return { terms, signature: sign(signer, Eip3009.digest(token.domain, terms, crypto.keccak256)) }
  }
  const authorization = (now: bigint) => {
    const known = memory.authorizations
    const one = known.length > 0 && luck.perMille(200) ? luck.pick(known) : fresh(now)
    known.push(one)
    return one
  }

  /** A signature that no token takes. */
  const spoilt = (signature: EvmHex.Hex): EvmHex.Hex =>
    luck.pick([
      `0x${signature.slice(2, 130)}00`,
      `0x${signature.slice(2, 130)}`,
      `0x${signature.slice(2, 66)}${"f".repeat(64)}1b`,
      `0x${"0".repeat(128)}1b`,
      "0x",
      `${signature}00`
    ] as const)

  const transferData = (now: bigint): EvmHex.Hex => {
    const { signature, terms } = authorization(now)
    if (luck.perMille(500)) return Eip3009.encodeTransferByParts(terms, signature)
    return Eip3009.encodeTransferByBytes(terms, luck.perMille(150) ? spoilt(signature) : signature)
  }

  const settleData = (now: bigint, isWhole = luck.perMille(920)): EvmHex.Hex => {
    const entries = Array.from({ length: luck.between(1, 6) }, () => packed(authorization(now)))
    const at = luck.perMille(100) ? addressOf(accounts.stranger.address) : token.domain.verifyingContract
    const count = isWhole ? entries.length : entries.length + 1
    const runs = `${at.slice(2)}${count.toString(16).padStart(2, "0")}${entries.join("")}`
    const bytes = runs.padEnd(Math.ceil(runs.length / 64) * 64, "0")
    return `0xd0322fbf${EvmHex.toWord(32)}${EvmHex.toWord(runs.length / 2)}${bytes}`
  }

  const cancelData = (): EvmHex.Hex => {
    const payer = luck.pick(accounts.payers)
    const known = memory.authorizations.filter(({ terms }) => terms.from === addressOf(payer.address))
    const nonce: EvmHex.Hex = known.length > 0 ? luck.pick(known).terms.nonce : `0x${EvmHex.toWord(memory.nonces++)}`
    const signer = luck.perMille(150) ? accounts.stranger : payer
    const signature = sign(signer, cancellationDigest(token, addressOf(payer.address), nonce, crypto))
    return encodeFunctionData({
      abi: DollarToken.abi,
      functionName: "cancelAuthorization",
      args: [payer.address, nonce, signature]
    })
  }

  const tokenData = (): Hex => {
    const { abi } = DollarToken
    const somebody = luck.pick([...accounts.payers, accounts.payee]).address
    switch (luck.below(6)) {
      case 0:
        return encodeFunctionData({ abi, functionName: "pause" })
      case 1:
        return encodeFunctionData({ abi, functionName: "blacklist", args: [somebody] })
      case 2:
        return encodeFunctionData({ abi, functionName: "unBlacklist", args: [somebody] })
      case 3:
        return encodeFunctionData({ abi, functionName: "mint", args: [somebody, 5n] })
      case 4:
        return encodeFunctionData({ abi, functionName: "transfer", args: [somebody, BigInt(luck.below(3))] })
      default:
        return luck.pick(["0x12345678", "0x", "0xa9059cbb00"] as const)
    }
  }

  /** Recipient and data; an owner's doings are taken back soon. */
  const callOf = (now: bigint): { readonly to: Hex; readonly data: Hex; readonly value?: bigint } => {
    const at = token.domain.verifyingContract
    const kind = luck.below(100)
    if (kind < 40) return { to: at, data: transferData(now) }
    if (kind < 65) return { to: beginning.settler, data: settleData(now) }
    if (kind < 75) return { to: at, data: cancelData() }
    if (kind < 83) return { to: at, data: tokenData() }
    if (kind < 86) return { to: beginning.settler, data: "0x12345678" }
    if (kind < 92) return { to: accounts.stranger.address, data: "0x", value: BigInt(luck.below(1_000)) * gwei }
    return { to: accounts.signers[0].address, data: "0x" }
  }

  /** Signed bytes of one person, with the given next nonce, time of the newest block and base fee. */
  const transaction = async (
    next: (account: EvmAddress.Address) => bigint,
    now: bigint,
    baseFee: bigint
  ): Promise<EvmHex.Hex> => {
    if (memory.sent.length > 0 && luck.perMille(100)) return luck.pick(memory.sent)
    const sender = luck.pick([...accounts.signers.slice(0, 3), accounts.deployer] as const)
    const isOwner = sender === accounts.deployer
    const { data, to, value = 0n } = isOwner ? ownersCall() : callOf(now)
    const nonce = Number(next(addressOf(sender.address))) + luck.pick([0, 0, 0, 0, 0, 0, 0, 0, -1, 1, 2])
    const maximum = (baseFee * BigInt(luck.pick([0, 1, 2, 2, 2, 3, 4, 6]))) / 2n + BigInt(luck.below(3)) * gwei
    const bytes = await localOf(sender).signTransaction({
      type: "eip1559",
      chainId: luck.perMille(20) ? 1 : beginning.chain.chainId,
      nonce: Math.max(0, nonce),
      to,
      data,
      gas: gasFor(data),
      value: luck.perMille(20) ? 10n ** 30n : value,
      maxFeePerGas: maximum,
      maxPriorityFeePerGas: maximum < gwei ? maximum : gwei * BigInt(luck.between(0, 1))
    })
    memory.sent.push(bytes)
    return bytes
  }

  /** Mostly plenty; sometimes just what a node takes and a contract runs out of, too little, or more than a block has. */
  const gasFor = (data: Hex): bigint =>
    luck.pick([
      2_000_000n,
      2_000_000n,
      2_000_000n,
      1_200_000n,
      1_200_000n,
      GasMeter.least(data) + 5_000n,
      20_000n,
      31_000_000n
    ])

  const ownersCall = (): { readonly to: Hex; readonly data: Hex; readonly value?: bigint } => {
    const { abi } = DollarToken
    const to = token.domain.verifyingContract
    const unpause = encodeFunctionData({ abi, functionName: "unpause" })
    return { to, data: luck.perMille(500) ? unpause : tokenData() }
  }

  return { transaction, transferData, settleData, authorization }
}

const digits = (value: bigint, bytes: number): string =>
  value
    .toString(16)
    .padStart(2 * bytes, "0")
    .slice(-2 * bytes)

/** An entry of a pack: 158 bytes, as digits. */
const packed = ({ signature, terms }: ProgramMemory["authorizations"][number]): string => {
  const high = Number.parseInt(signature.slice(66, 67), 16)
  const s = `${(signature.endsWith("1c") ? high | 8 : high).toString(16)}${signature.slice(67, 130)}`
  const { from, nonce, to, validAfter, validBefore, value } = terms
  const numbers = digits(value, 12) + digits(validAfter, 5) + digits(validBefore, 5)
  return `${from.slice(2)}${to.slice(2)}${numbers}${nonce.slice(2)}${signature.slice(2, 66)}${s}`
}
