/**
 * `npm run conformance`: our roles and the published peers' roles, every combination, each cell a real paid request whose
 * transfer is looked up on the chain; and what the shops answer where the peers have no good response. Their logs on the
 * way comes first, the tables last. Ends with 0 only if everything came out as the tables say.
 */
import "reflect-metadata"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

import { shownBy } from "./behaviours/Behaviour.ts"
import * as Behaviours from "./behaviours/Behaviours.ts"
import * as Stage from "./behaviours/Stage.ts"
import * as ChannelMarket from "./channels/ChannelMarket.ts"
import * as ChannelTable from "./channels/ChannelTable.ts"
import * as ChannelTrial from "./channels/ChannelTrial.ts"
import * as HostTrial from "./hosts/HostTrial.ts"
import * as CellTrial from "./matrix/CellTrial.ts"
import * as Market from "./matrix/Market.ts"
import * as Matrix from "./matrix/Matrix.ts"
import * as MatrixTable from "./matrix/MatrixTable.ts"
import * as MppTable from "./mpp/MppTable.ts"
import * as MppTrial from "./mpp/MppTrial.ts"

const matrix = Effect.gen(function* () {
  const market = yield* Market.make(Matrix.sells)
  const payTo = market.chain.node.accounts.payee.address
  return yield* Effect.forEach(Matrix.cells, (cell) =>
    Effect.map(CellTrial.run(market, cell), (sight) => ({
      cell,
      sight,
      met: Matrix.isMet(Matrix.expected(cell, payTo), sight)
    }))
  )
})

const behaviours = Effect.gen(function* () {
  const stage = yield* Stage.make
  const looks = Behaviours.all.flatMap((behaviour) => Stage.compared.map((shop) => ({ behaviour, shop })))
  return yield* Effect.forEach(looks, ({ behaviour, shop }) =>
    Effect.map(Effect.scoped(behaviour.see(stage, shop)), (line) => ({
      behaviour,
      shop,
      line,
      met: shownBy(behaviour, shop).test(line)
    }))
  )
})

const machinePayments = Effect.gen(function* () {
  const market = yield* MppTrial.market
  const rows = yield* MppTrial.runAll(market)
  const hosts = yield* HostTrial.runAll(market)
  return { rows, hosts }
})

const program = Effect.gen(function* () {
  const results = yield* Effect.scoped(matrix)
  const seen = yield* Effect.scoped(behaviours)
  const { hosts, rows } = yield* Effect.scoped(machinePayments)
  const channels = yield* Effect.scoped(Effect.flatMap(ChannelMarket.make, ChannelTrial.runAll))
  const tables = [
    MatrixTable.toText(results),
    Behaviours.toText(seen),
    ChannelTable.toText(channels),
    MppTable.toText(rows),
    HostTrial.toText(hosts)
  ]
  yield* Console.log(`\n${tables.join("\n\n")}`)
  return [...results, ...seen, ...channels, ...rows, ...hosts].every(({ met }) => met)
})

process.exit((await Effect.runPromise(program)) ? 0 : 1)
