import { describeChat } from './chat.ts'
import { testTemplate } from './own-test.ts'

testTemplate('next-chat')
// Its own test has built it, and reads its settings when a request comes.
describeChat({ template: 'next-chat', build: null, serve: ['next.mjs', 'start', '--port', '0'] })
