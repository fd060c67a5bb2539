/**
 * Where attacks take place: a local chain that pretends to be Base Sepolia, the facilitator as it is shipped, shops, and
 * wallets in hostile hands. Every program under attack is a process of its own.
 */
import { createHash } from "node:crypto"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { type Anvil, DollarToken } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { encodeFunctionData } from "viem"

import * as HostileCall from "../hostile/HostileCall.ts"
import * as HostileWallet from "../hostile/HostileWallet.ts"
import * as PeerPrograms from "../PeerPrograms.ts"
import type { SourceMutation } from "../SourceMutation.ts"
import * as StagedProcess from "./StagedProcess.ts"

/** The attacked program: ours as it is shipped, or the published x402 packages. */
export type TargetName = "pontage" | "x402"

/** A tenant of the facilitator. */
export interface Tenant {
  readonly name: string
  readonly key: string
  readonly payTo: `0x${string}`
}

/** The stage that attacks find. */
export interface AttackStage {
  readonly target: TargetName
  readonly mutation: SourceMutation | undefined
  readonly chain: BaseSepoliaChain.BaseSepoliaChain
  /** The shop that is robbed, and a tenant of the same facilitator who robs it. */
  readonly victim: Tenant
  readonly mallory: Tenant
  /**
   * The facilitator with the usual settings, but for a caller's rate: it runs once for all attacks, which all come from one
   * place, so none may leave it harmed, and none is to be turned away for the one before it.
   */
  readonly usualFacilitator: Started
  /** The victim's shop on Koa, or the peer's on Express, at the usual facilitator. */
  readonly usualShop: Started
  /** The same on NestJS. */
  readonly usualNestShop: Started
  /** A facilitator of the attack's own; ours with `environment` beside the usual settings. */
  readonly facilitator: (environment?: Environment) => Started
  /** A shop of the attack's own at this facilitator, once it sells; its paths are those of `ShopGoods`. */
  readonly shop: (facilitator: string, options?: ShopChoice) => Started
  /** Shops in these shapes of `KoaShapes`; its URL lists them. */
  readonly shapes: (facilitator: string, names: ReadonlyArray<string>) => Started
  /** The victim's shop of MCP tools. */
  readonly tools: (facilitator: string) => Started
  /** A new wallet with `balance` of the token's smallest units and no coin. */
  readonly wallet: (balance: bigint) => Effect.Effect<HostileWallet.HostileWallet>
}

/** Settings that replace the usual ones; `undefined` takes one away. */
type Environment = Readonly<Record<string, string | undefined>>

type Started = Effect.Effect<StagedProcess.StagedProcess, never, Scope.Scope>

/** The options of a shop in which attacks differ. */
export interface ShopChoice {
  readonly host?: "koa" | "nest"
  readonly tenant?: Tenant
}

/** Sets the stage for attacks on this target; processes end with their scopes. */
export const make = Effect.fnUntraced(function* (
  target: TargetName,
  mutation: SourceMutation | undefined
): Effect.fn.Return<AttackStage, Anvil.AnvilFailed, Scope.Scope> {
  const chain = yield* BaseSepoliaChain.make
  const stage: Stage = { target, mutation, chain, victim: tenant("victim"), mallory: tenant("mallory") }
  const facilitator: AttackStage["facilitator"] = (environment = {}) =>
    target === "pontage" ? ourFacilitator(stage, environment) : peerFacilitator(stage)
  const shop: AttackStage["shop"] = (url, options = {}) => Effect.tap(openShop(stage, url, options), untilOnSale)
  const scope = yield* Effect.scope
  const usualFacilitator = yield* Effect.cached(Scope.provide(facilitator({ PONTAGE_RATE: "2000/10000" }), scope))
  const atUsual = (options: ShopChoice) =>
    Effect.cached(
      Scope.provide(
        Effect.flatMap(usualFacilitator, ({ url }) => shop(url, options)),
        scope
      )
    )
  const usualShop = yield* atUsual({ host: "koa" })
  const usualNestShop = yield* atUsual({ host: "nest" })
  const shapes: AttackStage["shapes"] = (url, names) =>
    StagedProcess.start({
      module: "apps/trials/src/attacks/stage/KoaShapesMain",
      mutation,
      environment: { ...roleOf(stage, url, stage.victim), SHAPES: JSON.stringify(names) }
    })
  const tools: AttackStage["tools"] = (url) =>
    StagedProcess.start({
      module: "apps/trials/src/attacks/stage/ToolShopMain",
      mutation,
      environment: roleOf(stage, url, stage.victim)
    })
  const wallet: AttackStage["wallet"] = (balance) => walletWith(stage, balance)
  return { ...stage, usualFacilitator, usualShop, usualNestShop, facilitator, shop, shapes, tools, wallet }
})

type Stage = Pick<AttackStage, "target" | "mutation" | "chain" | "victim" | "mallory">

const tenant = (name: string): Tenant => ({
  name,
  key: `${name}-key-0123456789`,
  payTo: HostileWallet.make(digestOf(`payee of ${name}`)).address
})

const digestOf = (text: string): `0x${string}` => `0x${createHash("sha256").update(text).digest("hex")}`

const walletWith = ({ chain: { node } }: Stage, balance: bigint) => {
  const wallet = HostileWallet.make()
  const mint = encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args: [wallet.address, balance] })
  return Effect.as(node.send({ to: BaseSepolia.token, data: mint }), wallet)
}

/** Each caller may have only itself paid. */
const callersFile = ({ mallory, victim }: Stage): string => {
  const file = join(mkdtempSync(join(tmpdir(), "pontage-callers-")), "callers.json")
  const callers = [victim, mallory].map(({ key, name, payTo }) => ({
    name,
    keys: [`sha256:${createHash("sha256").update(key).digest("hex")}`],
    networks: { [BaseSepolia.network]: { payees: [payTo] } }
  }))
  writeFileSync(file, JSON.stringify({ callers }))
  return file
}

const ourFacilitator = (stage: Stage, environment: Environment) => {
  const { accounts, rpcUrl } = stage.chain.node
  return StagedProcess.start({
    module: "apps/facilitator/src/main",
    mutation: stage.mutation,
    environment: {
      PORT: "0",
      PONTAGE_STORE: "memory",
      PONTAGE_EVM_RPC_URL: rpcUrl,
      PONTAGE_EVM_SIGNER_KEY: accounts.signers[0].privateKey,
      PONTAGE_CALLERS_FILE: callersFile(stage),
      ...environment
    }
  })
}

const peerFacilitator = ({ chain: { node } }: Stage) =>
  Effect.andThen(
    PeerPrograms.ready,
    StagedProcess.start({
      module: "apps/conformance/src/AttackedFacilitator",
      mutation: undefined,
      environment: { ROLE: JSON.stringify({ rpcUrl: node.rpcUrl, key: node.accounts.signers[1].privateKey }) }
    })
  )

const shopModules = {
  koa: "apps/trials/src/attacks/stage/KoaShopMain",
  nest: "apps/trials/src/attacks/stage/NestShopMain"
} as const

const openShop = (stage: Stage, facilitator: string, { host = "koa", tenant = stage.victim }: ShopChoice) =>
  StagedProcess.start({
    module: stage.target === "pontage" ? shopModules[host] : "apps/conformance/src/AttackedShop",
    mutation: stage.mutation,
    decorators: host === "nest",
    environment: roleOf(stage, facilitator, tenant)
  })

const roleOf = ({ chain }: Stage, facilitator: string, { key, payTo }: Tenant) => ({
  ROLE: JSON.stringify({ facilitator, key, rpcUrl: chain.node.rpcUrl, payTo })
})

/** A shop sells nothing before it has proven its wiring, which takes a moment. */
const untilOnSale = ({ output, url }: StagedProcess.StagedProcess): Effect.Effect<void> =>
  Effect.map(HostileCall.send(`${url}/cheap`), ({ status }) => status).pipe(
    Effect.repeat({ while: (status) => status !== 402, schedule: Schedule.spaced("20 millis") }),
    Effect.timeoutOrElse({
      duration: "10 minutes",
      orElse: () => Effect.die(new Error(`the shop does not open:\n${output()}`))
    }),
    Effect.asVoid
  )
