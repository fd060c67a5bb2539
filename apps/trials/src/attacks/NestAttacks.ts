/**
 * The attacks whose way through a shop's host differs, on our shop on NestJS.
 */
import type { Attack } from "./Attack.ts"
import * as HostAttacks from "./HostAttacks.ts"
import * as PriceAttacks from "./PriceAttacks.ts"
import * as RefusedAttacks from "./RefusedAttacks.ts"
import * as RepeatAttacks from "./RepeatAttacks.ts"
import type { SourceMutation } from "./SourceMutation.ts"

const attacksOfHosts = [
  ...PriceAttacks.attacks,
  ...RefusedAttacks.attacks,
  ...RepeatAttacks.attacks,
  ...HostAttacks.attacks
]

/** Where the fault is in the host's own code. */
const faultsOfNest: Readonly<Record<string, SourceMutation>> = {
  "another-query": [
    {
      module: "core/src/server/http/RequestTarget",
      piece: 'target.includes("#") || /^[^?]*\\?\\?/.test(target)',
      instead: "target === undefined"
    },
    {
      module: "core/src/server/host/NodeRequest",
      piece: "const { query } = this.#host",
      instead: 'const query = Object.fromEntries(new URLSearchParams(this.target.replace(/^[^?]*[?]/, "")))'
    }
  ]
}

const onNest = (name: string): Attack => {
  const attack = attacksOfHosts.find((one) => one.name === name)
  if (attack === undefined) throw new Error(`there is no attack ${name} on hosts`)
  return {
    ...attack,
    name: `${name}-on-nest`,
    targets: ["pontage"],
    mutation: faultsOfNest[name] ?? attack.mutation,
    run: (stage) => attack.run({ ...stage, usualShop: stage.usualNestShop })
  }
}

export const attacks: ReadonlyArray<Attack> = [
  "dearer-body",
  "dearer-header",
  "charged-for-a-refusal",
  "copies-at-once",
  "cut-stream",
  "another-query",
  "shared-cache"
].map(onNest)
