/**
 * A plain load generator: a fixed number of requests over a fixed number of kept-alive connections. Its own speed does
 * not matter, since what is measured is the CPU time of the server's process.
 */
import { Agent, get, request } from "node:http"

/**
 * Sends a number of GET requests and returns the count of each status.
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

/**
 * Posts each of the bodies and returns the bodies that came, in the order they came.
 */
export const post = async (url: string, bodies: ReadonlyArray<string>, connections = 32): Promise<Array<string>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const left = bodies.values()
  const answers: Array<string> = []
  const worker = async () => {
    for (const body of left) answers.push(await posted(url, agent, body))
  }
  await Promise.all(Array.from({ length: connections }, worker))
  agent.destroy()
  return answers
}

const posted = (url: string, agent: Agent, body: string) =>
  new Promise<string>((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    const asked = request(url, { agent, headers, method: "POST" }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => resolve(Buffer.concat(chunks).toString()))
      response.on("error", reject)
    })
    asked.on("error", reject)
    asked.end(body)
  })

const once = (url: string, agent: Agent) =>
  new Promise<number>((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume()
      response.on("end", () => resolve(response.statusCode ?? 0))
      response.on("error", reject)
    }).on("error", reject)
  })
