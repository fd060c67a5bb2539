/**
 * Waits until a writer is quiet. Pieces that were charged may still be on their way through the streams of a handler when its response is
 * ended for it: they come within a few turns of the event loop.
 */

/** The rounds without a piece that count as quiet, and the length of one in milliseconds. */
const rounds = 5
const roundMillis = 10

const round = () =>
  new Promise<void>((resolve) => {
    setTimeout(resolve, roundMillis)
  })

/** Resolves once the count has not changed for some rounds. */
export const after = async (count: () => number): Promise<void> => {
  let last = count()
  for (let left = rounds; left > 0; left--) {
    // oxlint-disable-next-line no-await-in-loop -- each round follows the one before
    await round()
    if (count() !== last) left = rounds + 1
    last = count()
  }
}
