/**
 * A plain load generator: a fixed number of GET requests over a fixed number of kept-alive connections. Its own speed does
 * not matter, since what is measured is the CPU time of the server's process.
 */
import { Agent, get } from "node:http"

/**
 * Sends the requests and answers with the statuses that came, counted.
 */
export const run = async (url: string, requests: number, connections = 32): Promise<ReadonlyMap<number, number>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const statuses = new Map<number, number>()
  let left = requests
  const worker = async () => {
    while (left-- > 0) {
      const status = await once(url, agent)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  agent.destroy()
  return statuses
}

const once = (url: string, agent: Agent) =>
  new Promise<number>((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume()
      response.on("end", () => resolve(response.statusCode ?? 0))
      response.on("error", reject)
    }).on("error", reject)
  })
