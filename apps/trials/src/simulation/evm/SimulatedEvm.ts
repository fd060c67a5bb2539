/**
 * An EVM chain of the simulation: the real scheme `exact` on EVM, with its real signatures, asks nodes of a modelled chain, alone
 * or through a load balancer, over the wires of the simulated world.
 */
import type { FacilitatorScheme, SchemeFacilitator } from "@pontage/core"
import { EvmAddress, type EvmHex, EvmNetwork, exactEvm } from "@pontage/evm"
import { BatchSettler } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import type { TrialRandom } from "../../world/TrialRandom.ts"
import * as SimulationMutation from "../SimulationMutation.ts"
import type { NetworkLink } from "../world/NetworkLink.ts"
import type { ChainConfiguration, ChainSurroundings, SimulatedChain } from "../world/SimulatedChain.ts"
import * as EvmStrangers from "./EvmStrangers.ts"
import * as EvmTroubles from "./EvmTroubles.ts"
import * as EvmWires from "./EvmWires.ts"
import * as EvmModelChain from "./model/EvmModelChain.ts"
import * as EvmModelState from "./model/EvmModelState.ts"
import { type ModelToken, slots } from "./model/EvmModelToken.ts"
import * as EvmModelTransaction from "./model/EvmModelTransaction.ts"
import { usualDepths } from "./model/EvmModelView.ts"
import * as NodeDialect from "./model/NodeDialect.ts"
import * as SimulatedEvmNode from "./SimulatedEvmNode.ts"
import * as SimulatedEvmPeople from "./SimulatedEvmPeople.ts"
import * as SimulatedEvmTruth from "./SimulatedEvmTruth.ts"

/** How a chain is to be. */
export interface Options {
  readonly blockMillis: number
  readonly finality: number
  readonly nodes: number
  readonly signers: number
  readonly capacity: number
  /** The scheme facilitator that a mutation wraps; `lagging` is the same one over a node that is two blocks behind. */
  readonly broken?: (scheme: SchemeFacilitator, lagging: SchemeFacilitator) => SchemeFacilitator
  /** Told when something was asked that answers by a promise. */
  readonly promised: () => void
}

/** The local chain that the scheme knows, with its token. */
const chainId = 31_337
const network = EvmNetwork.fromChainId(chainId)
const at = EvmAddress.fromTail("0x5fbdb2315678afecb367f032d93f642f64180aa3")
const token: ModelToken = {
  domain: {
    name: "Test Dollar",
    version: "1",
    chainId,
    verifyingContract: at
  },
  decimals: 6,
  owner: EvmAddress.fromTail("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
}
const settler = EvmAddress.fromTail("0x00000000000000000000000000000000005e771e")

/** The first block of the chain, far enough from zero that no search reaches behind it. */
const firstBlock = 1_000n
const gwei = 1_000_000_000n
const calmFee = gwei
/** Above this nothing is sent. */
const ceiling = 100n * gwei
const plenty = 10n ** 21n

/** The properties of a chain's nodes, drawn once for a simulation. */
interface Temper {
  /** A facilitator asks all nodes through one address, and does not know which of them answers. */
  readonly isBalanced: boolean
  readonly logRange: number
  readonly dialect: NodeDialect.NodeDialect
  readonly blockMillis: number
  readonly delays: ReadonlyArray<number>
  /** Which node lies about receipts, how, and from when to when; milliseconds since the beginning. */
  readonly lie:
    | {
        readonly node: number
        readonly kind: SimulatedEvmNode.ReceiptLie
        readonly from: number
        readonly millis: number
      }
    | undefined
  /** The pause of the token by its owner: its start since the beginning and its duration, in milliseconds. */
  readonly pause: { readonly from: number; readonly millis: number } | undefined
  /** Simulated transfers that a stranger who overheard them submits at once, per thousand. */
  readonly eager: number
  /** Requests that a busy node refuses, per thousand. */
  readonly busy: number
}

const temperOf = (random: TrialRandom, { blockMillis, nodes }: Options): Temper => {
  const isBalanced = nodes > 1 && random.perMille(700)
  const { geth } = NodeDialect
  return {
    isBalanced,
    dialect: random.pick([geth, geth, { ...geth, refusesLogsBeyondHead: true, tellsLogsOfOrphans: false }]),
    logRange: random.pick([100_000, 1_000, 50, 10]),
    blockMillis: Math.max(250, Math.floor(blockMillis / random.pick([1, 1, 2, 4]))),
    delays: Array.from({ length: nodes }, () => random.pick([0, 0, 20, 300, 1_500])),
    lie: isBalanced && random.perMille(250) ? lieOf(random, nodes) : undefined,
    pause: random.perMille(100) ? { from: random.below(30_000), millis: random.pick([1_000, 8_000]) } : undefined,
    eager: random.pick([0, 0, 0, 0, 0, 300]),
    busy: random.pick([0, 0, 0, 5, 50])
  }
}

const lieOf = (random: TrialRandom, nodes: number): NonNullable<Temper["lie"]> => ({
  node: random.below(nodes),
  kind: random.pick(["failed", "missing", "forged"]),
  from: random.below(30_000),
  millis: random.pick([2_000, 20_000])
})

/** Everything that a chain is made of. */
interface Works {
  readonly chain: EvmModelChain.EvmModelChain
  readonly surroundings: ChainSurroundings
  readonly options: Options
  readonly temper: Temper
  readonly nodes: ReadonlyArray<SimulatedEvmNode.SimulatedEvmNode>
  readonly history: Array<SimulatedEvmNode.HeadHistory[number]>
  readonly strangers: EvmStrangers.EvmStrangers
  readonly signers: ReadonlyArray<SimulatedEvmPeople.SimulatedPerson>
  /** The hashes of the transactions that facilitators have sent. */
  readonly sent: Set<EvmHex.Hex>
  readonly tellers: Array<Parameters<SimulatedChain["onSubmit"]>[0]>
  readonly truth: ReturnType<typeof SimulatedEvmTruth.make>
  /** Instants, true Unix milliseconds; the base fee of calm days; and whether all troubles are over. */
  readonly weather: { heldUntil: number; dearUntil: number; calmFee: bigint; isCalm: boolean }
}

/** A chain whose blocks have begun to come. */
export const make = (surroundings: ChainSurroundings, options: Options): SimulatedChain => {
  const works = build(surroundings, options)
  const { nodes, signers, tellers, truth, weather } = works
  const { payee } = SimulatedEvmPeople.bystanders()
  beat(works)
  lieInTime(works)
  pauseInTime(works)
  return {
    network,
    signers: signers.map(({ address }) => EvmAddress.checksum(address)),
    nodes: options.nodes,
    promises: true,
    payee: EvmAddress.checksum(payee.address),
    assets: [EvmAddress.checksum(at)],
    keyOf: SimulatedEvmTruth.keyOf,
    deposit: (buyer, amount) => works.chain.endow(slots.balance(at, SimulatedEvmPeople.payerAt(buyer).address), amount),
    payer: (buyer) => EvmAddress.checksum(SimulatedEvmPeople.payerAt(buyer).address),
    client: (buyer) => exactEvm.client({ signer: announced(works, SimulatedEvmPeople.payerAt(buyer)), network }),
    server: (link) => serverOver(works, link),
    facilitator: (link, configuration) => facilitatorOver(works, link, configuration),
    bring: (trouble) => EvmTroubles.bring(befallen(works), trouble),
    calm: () => {
      Object.assign(weather, { heldUntil: 0, dearUntil: 0, isCalm: true })
      works.strangers.pause(false)
      for (const node of nodes) SimulatedEvmNode.mend(node)
    },
    onSubmit: (told) => void tellers.push(told),
    truth
  }
}

const build = (surroundings: ChainSurroundings, options: Options): Works => {
  const { random, time } = surroundings
  const temper = temperOf(random.branch("temper"), options)
  const chain = begin(() => Math.floor(time.now() / 1000), temper.dialect, options)
  const sent = new Set<EvmHex.Hex>()
  const isOurs = (transaction: EvmHex.Hex) => sent.has(transaction)
  const account = SimulatedEvmPeople.bystanders().stranger.address
  return {
    chain,
    surroundings,
    options,
    temper,
    nodes: temper.delays.map(SimulatedEvmNode.make),
    history: [{ at: 0, head: chain.head() }],
    strangers: EvmStrangers.make(chain, { account, settler, token: at, owner: token.owner }),
    signers: Array.from({ length: options.signers }, (_, place) => SimulatedEvmPeople.signerAt(place)),
    sent,
    tellers: [],
    truth: SimulatedEvmTruth.make(chain, { token: at, finality: options.finality, isOurs }),
    weather: { heldUntil: 0, dearUntil: 0, calmFee, isCalm: false }
  }
}

/** A chain with some blocks, whose people have coin and whose payers have no tokens. */
const begin = (clock: () => number, dialect: NodeDialect.NodeDialect, { finality, signers }: Options) => {
  const now = clock()
  const state = new Map<string, bigint>()
  const rich = Array.from({ length: signers }, (_, place) => SimulatedEvmPeople.signerAt(place))
  const addresses = [SimulatedEvmPeople.bystanders().stranger, ...rich].map(({ address }) => address)
  for (const address of [token.owner, ...addresses]) state.set(EvmModelState.coinOf(address), plenty)
  const blocks = finality + 8
  const chain = EvmModelChain.make({
    chainId,
    contracts: { tokens: new Map([[at, token]]), settler },
    code: new Map<EvmAddress.Address, EvmHex.Hex>([
      [settler, BatchSettler.runtime],
      [at, "0x60"]
    ]),
    crypto: SimulatedEvmPeople.crypto(),
    blockGas: 30_000_000n,
    dialect,
    now: () => BigInt(clock()),
    first: { number: firstBlock, time: BigInt(now - blocks), baseFee: calmFee, gasUsed: 0n, state }
  })
  for (let block = blocks - 1; block >= 0; block--) {
    chain.setNextBaseFee(calmFee)
    chain.mine(BigInt(now - block))
  }
  return chain
}

/** There is a new head: everybody will hear of it, each in its own time. */
const note = ({ chain, history, surroundings, truth }: Works): void => {
  history.push({ at: surroundings.time.now(), head: chain.head() })
  truth.note()
}

/** Makes a block now and then. Gas costs the same from block to block, but in dear times. */
const beat = (works: Works): void => {
  const { chain, surroundings, temper, weather } = works
  const { time } = surroundings
  time.after(temper.blockMillis, "a block", () => {
    const now = time.now()
    if (now >= weather.heldUntil) {
      if (now >= weather.dearUntil) chain.setNextBaseFee(weather.calmFee)
      const before = chain.head().time
      const at = BigInt(Math.floor(now / 1000))
      const { baseFee } = chain.mine(at > before ? at : before)
      if (now < weather.dearUntil) chain.setNextBaseFee(baseFee)
      note(works)
    }
    beat(works)
  })
}

const lieInTime = ({ nodes, surroundings: { time }, temper: { lie }, weather }: Works): void => {
  if (lie === undefined) return
  const node = nodes[lie.node]
  if (node === undefined) return
  time.after(lie.from, "a node begins to lie", () => {
    if (weather.isCalm) return
    node.lie = lie.kind
    node.liesUntil = time.now() + lie.millis
  })
}

const pauseInTime = ({ strangers, surroundings: { time }, temper: { pause }, weather }: Works): void => {
  if (pause === undefined) return
  time.after(pause.from, "the token is paused", () => {
    if (!weather.isCalm) strangers.pause(true)
  })
  time.after(pause.from + pause.millis, "the token is not paused any more", () => strangers.pause(false))
}

const befallen = (works: Works): EvmTroubles.Befallen => {
  const { chain, nodes, options, signers, strangers, surroundings, weather } = works
  const { random, time } = surroundings
  return {
    chain,
    time,
    below: random.below,
    nodes,
    signers,
    payer: SimulatedEvmPeople.payerAt,
    strangers,
    deepest: options.finality - 1,
    weather,
    noted: () => note(works)
  }
}

/** A signer answers by a promise. */
const announced = ({ options }: Works, { signer }: SimulatedEvmPeople.SimulatedPerson) => ({
  address: signer.address,
  signTransaction: (transaction: Parameters<typeof signer.signTransaction>[0]) => {
    options.promised()
    return signer.signTransaction(transaction)
  },
  signTypedData: (data: Parameters<typeof signer.signTypedData>[0]) => {
    options.promised()
    return signer.signTypedData(data)
  }
})

const busy = { error: { code: -32_005, message: "rate limit exceeded, try again later" } }

/** A node's answer to a process; `place` is the node that it is configured with. */
const askOf =
  (works: Works, link: NetworkLink, place: number, lag = 0n): EvmWires.RequestNode =>
  (method, params) => {
    const { chain, history, nodes, sent, strangers, surroundings, temper, tellers, weather } = works
    const now = surroundings.time.now()
    const node = nodes[temper.isBalanced ? surroundings.random.below(nodes.length) : place % nodes.length]
    if (node === undefined) return undefined
    const bytes = now < node.downUntil ? undefined : EvmWires.bytesOf(method, params)
    if (bytes !== undefined) {
      for (const teller of tellers) teller({ bytes, process: link.process })
      const transaction = EvmModelTransaction.decode(bytes, chain.world.crypto)
      if (transaction !== undefined) sent.add(transaction.hash)
    }
    const isHeard = strangers.overhear(method, params)
    const isTold = isHeard && !weather.isCalm && surroundings.random.perMille(temper.eager)
    if (isTold) strangers.submitOverheard(surroundings.random.below)
    if (!weather.isCalm && temper.busy > 0 && surroundings.random.perMille(temper.busy)) return busy
    const seen = SimulatedEvmNode.headOf(node, chain, history, now)
    const head = chain.blockAt(seen, seen.number - lag) ?? seen
    const view = { chain, head, depths: usualDepths, logRange: temper.logRange }
    return SimulatedEvmNode.respond(node, view, now, method, params)
  }

const serverOver = (works: Works, link: NetworkLink): ReturnType<SimulatedChain["server"]> => {
  const server = exactEvm.server({ rpcUrl: EvmWires.rpcUrl, network })
  const { prove, useOf } = server
  const ask = askOf(works, link, 0)
  return {
    ...server,
    ...(prove && { prove: (...asked) => EvmWires.over(link, ask, prove(...asked)) }),
    ...(useOf && { useOf: (...asked) => EvmWires.over(link, ask, useOf(...asked)) })
  }
}

const facilitatorOver = (
  works: Works,
  link: NetworkLink,
  { batch, nodes: [place = 0], signers: chosen }: ChainConfiguration
): FacilitatorScheme => {
  const { options, signers } = works
  const people = [...new Set(chosen.map((one) => signers[one % signers.length]))]
  const scheme = exactEvm.facilitator({
    signer: people.flatMap((person) => (person === undefined ? [] : [announced(works, person)])),
    rpcUrl: EvmWires.rpcUrl,
    network,
    finalityDepth: options.finality,
    maxFeePerGas: ceiling,
    ...(batch > 1 && { batches: { settler, maximum: batch, windowMillis: 40 } })
  })
  const asking = EvmWires.over(link, askOf(works, link, place), scheme)
  const { broken } = options
  const whole =
    broken === undefined || broken === SimulationMutation.none.scheme
      ? asking
      : Effect.zipWith(asking, EvmWires.over(link, askOf(works, link, place, 2n), scheme), broken)
  return Effect.map(whole, (one) => ({ ...one, capacity: options.capacity }))
}
