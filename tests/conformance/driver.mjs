// Runs the tests of the npm package http-cache-tests with its own origin and a client of ours:
//
//     node driver.mjs SUITE ORIGIN_PORT CONCURRENCY forward|reverse PROXY_URL
//
// and prints {id: {group, kind, dependsOn, result}} as JSON; result is true, or [kind of failure, what was seen].
//
// The client is node's plain HTTP client rather than its fetch, for two reasons. Through a proxy, fetch opens a tunnel,
// and what passes in a tunnel is not cached. And to a request that brings fields of its own the suite's options make
// fetch add `Cache-Control: no-cache`, which asks a cache that listens to its clients for the opposite of what the
// tests look for. Each request has a connection of its own: what an origin closes in the moment of a request is no matter
// of caching.

import http from 'node:http'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [suite, originPort, concurrency, mode, proxy] = process.argv.slice(2)
const { hostname, port, host } = new URL(proxy)
const forward = mode === 'forward'
const base = forward ? `http://127.0.0.1:${originPort}` : proxy
const agent = new http.Agent({ keepAlive: false })
const PATIENCE_MS = 15000

const load = file => import(pathToFileURL(path.join(suite, file)).href)

// What the suite uses of `fetch`.
function ask (url, { method = 'GET', headers = [], body } = {}) {
  const target = new URL(url)
  const framing = body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))]]
  return new Promise((resolve, reject) => {
    const request = http.request({
      agent,
      hostname,
      port,
      method,
      path: forward ? url : target.pathname + target.search,
      headers: [['Host', forward ? target.host : host], ...headers, ...framing],
      timeout: PATIENCE_MS
    })
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    request.on('error', reject)
    request.on('response', response => {
      const chunks = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => resolve(answer(response, Buffer.concat(chunks).toString())))
    })
    request.end(body)
  })
}

function answer ({ statusCode: status, statusMessage: statusText, rawHeaders }, text) {
  const headers = new Headers()
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i], rawHeaders[i + 1])
  return { status, statusText, headers, text: () => Promise.resolve(text) }
}

console.log = () => {} // the suite talks; standard output is for the result
Object.assign(process.env, { npm_config_protocol: 'http', npm_config_port: originPort, npm_config_pidfile: '/dev/null' })
await load('server/server.mjs')

const groups = (await load('tests/index.mjs')).default
const { runTests, getResults } = await load('client/runner.mjs')
await runTests(groups, ask, false, base, Number(concurrency))

const results = getResults()
const told = {}
for (const group of groups) {
  for (const { id, kind = 'required', depends_on: dependsOn = [] } of group.tests) {
    if (id in results) told[id] = { group: group.id, kind, dependsOn, result: results[id] }
  }
}
process.stdout.write(JSON.stringify(told), () => process.exit())
