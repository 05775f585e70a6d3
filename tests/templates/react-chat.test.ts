import { describeChat } from './chat.ts'
import { testTemplate } from './own-test.ts'

const vite = 'node_modules/vite/bin/vite.js'

testTemplate('react-chat')
describeChat({ template: 'react-chat', build: [vite, 'build'], serve: [vite, 'preview', '--port', '0'] })
