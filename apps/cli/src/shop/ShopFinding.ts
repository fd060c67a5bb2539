/** One line of a shop's validation. */

/** `failed` ends the command with an exit code; `advice` does not. */
export type Verdict = "passed" | "advice" | "failed"

/** A check and its result. */
export interface ShopFinding {
  readonly verdict: Verdict
  readonly check: string
  readonly text: string
}

/** A passed check. */
export const passed = (check: string, text: string): ShopFinding => ({ verdict: "passed", check, text })

/** A weakness that some buyers meet. */
export const advice = (check: string, text: string): ShopFinding => ({ verdict: "advice", check, text })

/** A mistake that keeps buyers from paying, or gives goods away. */
export const failed = (check: string, text: string): ShopFinding => ({ verdict: "failed", check, text })
