/**
 * The three routes of a foreign facilitator, as the peers' examples write them: bodies are handed on as they come, since
 * the classes behind them check what they are given.
 */
import express, { type Express, type Request, type Response } from "express"

/** The functions behind the routes; each gets the parsed body as the caller sent it. */
export interface Behind {
  // oxlint-disable-next-line typescript/no-explicit-any -- the peers' classes check it, as in their examples
  readonly verify: (body: any) => Promise<unknown>
  // oxlint-disable-next-line typescript/no-explicit-any -- the peers' classes check it, as in their examples
  readonly settle: (body: any) => Promise<unknown>
  readonly supported: () => unknown
}

/** The application. */
export const make = ({ settle, supported, verify }: Behind): Express => {
  const app = express()
  app.use(express.json())
  app.post("/verify", answering(verify))
  app.post("/settle", answering(settle))
  app.get("/supported", (_request, response) => {
    response.json(supported())
  })
  return app
}

const answering =
  (ask: (body: unknown) => Promise<unknown>) =>
  async ({ body }: Request, response: Response): Promise<void> => {
    try {
      response.json(await ask(body))
    } catch (error) {
      response.status(500).json({ error: error instanceof Error ? error.message : "Unknown error" })
    }
  }
