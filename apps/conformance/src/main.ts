/**
 * `npm run conformance`: our roles and the published peers' roles, every combination, each cell a real paid request whose
 * transfer is looked up on the chain. Ends with 0 only if every cell came out as the tables say.
 */
import "reflect-metadata"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

import * as CellTrial from "./CellTrial.ts"
import * as Market from "./Market.ts"
import * as Matrix from "./Matrix.ts"
import * as MatrixTable from "./MatrixTable.ts"

const matrix = Effect.gen(function* () {
  const market = yield* Market.make
  const payTo = market.chain.node.accounts.payee.address
  const results = yield* Effect.forEach(Matrix.cells, (cell) =>
    Effect.map(CellTrial.run(market, cell), (sight) => ({
      cell,
      sight,
      met: Matrix.isMet(Matrix.expected(cell, payTo), sight)
    }))
  )
  yield* Console.log(MatrixTable.toText(results))
  return results.every(({ met }) => met)
})

const met = await Effect.runPromise(Effect.scoped(matrix))
process.exit(met ? 0 : 1)
